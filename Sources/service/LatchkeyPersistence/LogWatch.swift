internal import CSQLite
internal import Glibc

/// Notes a connection's changes of the log, before they are made.
///
/// SQLite begins a new log by itself, in the first transaction after a complete checkpoint.
///
/// **Design.** SQLite calls back on the thread of the connection, which keeps this.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the memory lives as long as the object, and
/// only the connection uses it.
@safe
final class LogWatch: @unchecked Sendable {
    private let memory = UnsafeMutablePointer<latchkey_sqlite_log>.allocate(capacity: 1)
    private let notes: LogNotes

    /// Begins with an open log.
    init(_ connection: Connection, _ notes: LogNotes) throws(DatabaseError) {
        self.notes = notes
        let code = unsafe latchkey_sqlite_follow_log(
            connection.handle,
            memory,
            { context, salts in
                guard let notes = unsafe LogWatch.notes(context) else { return SQLITE_ERROR }
                do throws(PersistenceFailure) {
                    try notes.begins(salts)
                    return SQLITE_OK
                } catch {
                    guard !error.isOfSync else { return DatabaseError.syncError }
                    return error.isFull ? SQLITE_FULL : DatabaseError.writeError
                }
            },
            { context in unsafe LogWatch.notes(context)?.hasBegun() },
            Unmanaged.passUnretained(notes).toOpaque()
        )
        guard code == SQLITE_OK else {
            throw DatabaseError(code: code, text: "the file system allows no write-ahead log")
        }
    }

    deinit {
        unsafe memory.deallocate()
    }

    private static func notes(_ context: UnsafeMutableRawPointer?) -> LogNotes? {
        unsafe context.map { unsafe Unmanaged<LogNotes>.fromOpaque($0).takeUnretainedValue() }
    }
}
