internal import CSQLite
internal import Glibc

/// A call of SQLite that failed.
struct DatabaseError: Error {
    /// SQLite's extended code.
    let code: Int32
    /// errno of the system call that failed; 0 if none did.
    let systemCode: Int32
    /// SQLite's message.
    let text: String

    init(code: Int32, systemCode: Int32 = 0, text: String) {
        self.code = code
        self.systemCode = systemCode
        self.text = text
    }

    /// The code without its details.
    var primaryCode: Int32 { code & 0xFF }
}

/// A connection to the database, used by one thread at a time.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the handle lives as long as the object, and
/// SQLite allows one thread at a time with SQLITE_OPEN_NOMUTEX. Its own mutex would be taken ten
/// times for each row.
@safe
final class Connection: @unchecked Sendable {
    let handle: OpaquePointer
    /// The watch of the log, if there is one: it lives longer than the handle.
    private var watch: LogWatch?

    /// The kind of access to a database.
    enum Access {
        case write
        /// The database may be created.
        case make
        case read
        /// For reading where nothing can be written, not even the index of the log, and no process
        /// uses the database.
        case readFrozen
        /// For reading without the log.
        case readWithoutLog
    }

    /// Opens or makes a database.
    ///
    /// Nothing is written when the connection is closed: see ``keepLog(_:)``.
    init(_ path: String, _ access: Access = .write, vfs: String? = nil) throws(DatabaseError) {
        var (name, vfs) = (Self.absolute(path), vfs)
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let hasLog = Folder.byteCount(path + "-wal") != nil
        switch access {
        case .write: flags |= SQLITE_OPEN_READWRITE
        case .make:
            flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            // SQLite would let other users read it.
            let descriptor = unsafe open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            if descriptor >= 0 { close(descriptor) }
        case .read: flags |= SQLITE_OPEN_READONLY
        case .readFrozen where hasLog:
            // Without locks, the index of the log can be in memory: see below.
            flags |= SQLITE_OPEN_READONLY
            vfs = "unix-none"
        case .readFrozen, .readWithoutLog:
            flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            name = "file://\(Self.escaped(name))?immutable=1"
        }
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(name, &opened, flags, vfs)
        guard let connection = unsafe opened else {
            throw DatabaseError(code: SQLITE_NOMEM, text: "out of memory")
        }
        guard code == SQLITE_OK else {
            let error = unsafe Self.error(connection, code)
            unsafe sqlite3_close_v2(connection)
            throw error
        }
        unsafe handle = connection
        keepLog(true)
        if access == .readFrozen, hasLog {
            // "[…] then the shared-memory wal-index is never created" (SQLite's manual, WAL, 8).
            try execute("pragma locking_mode = exclusive")
        }
    }

    /// An absolute path, because SQLite takes a name that begins with `file:` for a URI.
    static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        let folder = unsafe getcwd(nil, 0)
        defer { unsafe free(folder) }
        return (unsafe folder.map { unsafe String(cString: $0) } ?? ".") + "/" + path
    }

    /// A path as a part of a URI.
    private static func escaped(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return path.utf8.reduce(into: "") { escaped, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                escaped += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }

    /// Whether SQLite has opened the database for reading only.
    var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") != 0 }

    deinit {
        unsafe sqlite3_close_v2(handle)
    }

    private static func error(_ handle: OpaquePointer, _ code: Int32) -> DatabaseError {
        // SQLite does not keep errno of a commit; the file of the log does.
        let logCode =
            code == DatabaseError.writeError ? unsafe latchkey_sqlite_log_errno(handle) : 0
        return DatabaseError(
            code: code,
            systemCode: logCode != 0 ? logCode : unsafe sqlite3_system_errno(handle),
            text: unsafe String(cString: sqlite3_errmsg(handle))
        )
    }

    /// Throws if a call did not succeed.
    func check(_ code: Int32) throws(DatabaseError) {
        guard code == SQLITE_OK else {
            throw unsafe Self.error(handle, code)
        }
    }

    /// Runs statements that have no result, or whose result does not matter.
    func execute(_ sql: String) throws(DatabaseError) {
        try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// The first column of the first row; nil if it is null or there is no row.
    func integer(_ sql: String) throws(DatabaseError) -> Int64? {
        let statement = try Statement(self, sql)
        return try statement.step() ? statement.optionalInteger(0) : nil
    }

    func text(_ sql: String) throws(DatabaseError) -> String? {
        let statement = try Statement(self, sql)
        return try statement.step() ? statement.string(0) : nil
    }

    /// Sets whether closing the last connection keeps the log, instead of copying and deleting it.
    func keepLog(_ keeps: Bool) {
        unsafe latchkey_sqlite_keep_log(handle, keeps ? 1 : 0)
    }

    /// Notes the changes of the log from now on.
    func watchLog(_ notes: LogNotes) throws(DatabaseError) {
        // SQLite opens the log when it first reads.
        _ = try integer("select count(*) from sqlite_schema")
        watch = try LogWatch(self, notes)
    }

    /// Whether no transaction is open.
    var isIdle: Bool { unsafe sqlite3_get_autocommit(handle) != 0 }

    /// Rolls back the open transaction, if there is one.
    func rollBack() {
        if !isIdle {
            // Fails only if SQLite has rolled back by itself.
            _ = unsafe sqlite3_exec(handle, "rollback", nil, nil, nil)
        }
    }

    /// A checkpoint: the frames of the log, and how many of them the database has.
    @discardableResult
    func checkpoint(_ mode: Int32) throws(DatabaseError) -> (frames: Int, copied: Int) {
        var (frames, copied): (Int32, Int32) = (0, 0)
        try check(unsafe sqlite3_wal_checkpoint_v2(handle, "main", mode, &frames, &copied))
        return (Int(frames), Int(copied))
    }
}

/// A prepared statement, used by the thread that uses its connection.
///
/// A value bound by pointer is read until ``reset()``, and the bytes of a column live until the
/// next ``step()``.
///
/// SAFETY: `@safe` and `@unchecked Sendable` as ``Connection``, which it keeps.
@safe
final class Statement: @unchecked Sendable {
    private let handle: OpaquePointer
    private let connection: Connection

    init(_ connection: Connection, _ sql: String) throws(DatabaseError) {
        self.connection = connection
        var prepared: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        let code = unsafe sqlite3_prepare_v3(connection.handle, sql, -1, flags, &prepared, nil)
        try connection.check(code)
        guard let statement = unsafe prepared else {
            throw DatabaseError(code: SQLITE_ERROR, text: "the statement is empty")
        }
        unsafe handle = statement
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    func bind(_ index: Int32, _ value: Int64) throws(DatabaseError) {
        try connection.check(unsafe sqlite3_bind_int64(handle, index, value))
    }

    func bind(_ index: Int32, _ value: Int64?) throws(DatabaseError) {
        if let value {
            try bind(index, value)
        } else {
            try connection.check(unsafe sqlite3_bind_null(handle, index))
        }
    }

    /// Binds text without copying it.
    func bindText(_ index: Int32, _ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        let text = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        let count = UInt64(bytes.count)
        let encoding = UInt8(SQLITE_UTF8)
        try connection.check(
            unsafe sqlite3_bind_text64(handle, index, text, count, nil, encoding)
        )
    }

    /// Binds a text without copying it, or null.
    func bindOptionalText(
        _ index: Int32,
        _ bytes: UnsafeRawBufferPointer?
    ) throws(DatabaseError) {
        if let bytes = unsafe bytes {
            try unsafe bindText(index, bytes)
        } else {
            try bind(index, nil)
        }
    }

    /// Binds bytes without copying them.
    func bindBytes(_ index: Int32, _ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        guard let start = bytes.baseAddress, unsafe !bytes.isEmpty else {
            return try connection.check(unsafe sqlite3_bind_zeroblob(handle, index, 0))
        }
        let count = UInt64(bytes.count)
        try connection.check(unsafe sqlite3_bind_blob64(handle, index, start, count, nil))
    }

    /// Whether there is a row.
    func step() throws(DatabaseError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW {
            return true
        }
        guard code == SQLITE_DONE else {
            try connection.check(code)
            return false
        }
        return false
    }

    /// Ends the run, which may have failed.
    func reset() {
        unsafe sqlite3_reset(handle)
    }

    /// Runs a statement without rows.
    func run() throws(DatabaseError) {
        defer { reset() }
        _ = try step()
    }

    func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    func isText(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_TEXT
    }

    func integer(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    func optionalInteger(_ column: Int32) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    /// The bytes of a text or a blob.
    ///
    /// Read as a blob, since SQLite copies a text to end it with a zero.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = unsafe sqlite3_column_blob(handle, column)
        let count = unsafe sqlite3_column_bytes(handle, column)
        return unsafe UnsafeRawBufferPointer(start: start, count: Int(count))
    }

    /// The same; nil if it is null.
    func optionalBytes(_ column: Int32) -> UnsafeRawBufferPointer? {
        isNull(column) ? nil : unsafe bytes(column)
    }

    func string(_ column: Int32) -> String {
        unsafe String(decoding: bytes(column), as: UTF8.self)
    }
}

extension DatabaseError {
    /// SQLite's code of damage, also for damage that SQLite does not see.
    static let damage = SQLITE_CORRUPT

    var isDamage: Bool { primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB }
}

extension DatabaseError {
    /// SQLITE_IOERR_WRITE, a macro that Swift cannot import.
    static let writeError = SQLITE_IOERR | 3 << 8

    /// The system's codes for no space, a used quota, and a file that is too long.
    static let fullCodes = [ENOSPC, EDQUOT, EFBIG]

    /// SQLITE_IOERR_FSYNC.
    static let syncError = SQLITE_IOERR | 4 << 8

    /// SQLITE_IOERR_SHMSIZE: the index of the log, a file beside it, cannot grow.
    static let indexError = SQLITE_IOERR | 19 << 8

    /// Whether a write found no space, and so nothing was written.
    ///
    /// SQLite says SQLITE_FULL for ENOSPC only. A sync without space has another code: earlier
    /// writes can be lost.
    var isFull: Bool {
        primaryCode == SQLITE_FULL
            || [Self.writeError, Self.indexError].contains(code)
                && Self.fullCodes.contains(systemCode)
    }

    /// SQLITE_IOERR_RDLOCK, _CHECKRESERVEDLOCK, _LOCK and _SHMLOCK.
    private static let lockErrors = [9, 14, 15, 20].map { SQLITE_IOERR | $0 << 8 }

    /// Whether a lock was not acquired, before the first write: another program uses the database,
    /// or the file system cannot tell.
    var isBusy: Bool {
        [SQLITE_BUSY, SQLITE_LOCKED].contains(primaryCode) || Self.lockErrors.contains(code)
    }
}
