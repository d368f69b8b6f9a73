internal import CSQLite

/// How many frames the log of a database has.
///
/// **Design.** SQLite calls back on the thread of the connection, after a transaction.
final class LogFrames {
    var count = 0

    var byteCount: Int { count * LogScan.frameByteCount }

    /// The object has to live as long as the connection.
    func follow(_ connection: Connection) {
        unsafe sqlite3_wal_hook(
            connection.handle,
            { context, _, _, count in
                if let context = unsafe context {
                    unsafe Unmanaged<LogFrames>.fromOpaque(context).takeUnretainedValue().count =
                        Int(count)
                }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }
}
