internal import CSQLite
internal import Glibc
internal import LatchkeyStore

/// A database that was opened and looks whole; its rows have not been read.
///
/// Everything that opens the database is here.
final class OpenedDatabase: Sendable {
    /// The connection that writes, which is closed before the folder is unlocked.
    let connection: Connection
    let folder: Folder
    let room: DiskRoom?
    /// Whether a torn transaction is in the log.
    let hasTornLog: Bool
    /// Whether no note tells which log is valid, as in a copy of the database alone.
    let lacksNotes: Bool
    /// `pragma data_version` before anything was read: another value means another program.
    let dataVersion: Int64
    let meta: Meta
    let isNew: Bool
    /// The last row of `changes`, or the last one that `stored` has.
    let lastRow: Int64
    let lastRevision: Revision
    private let vfs: String?

    /// Opens the database of a folder that is locked, or makes it.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - room: The room on its disk; nil without a service.
    ///   - startRevision: The revision before the first commit of a new database; nil if none is
    ///     to be made.
    ///   - isShownEarly: Whether commits are shown before they are on the disk.
    ///   - vfs: The file system of SQLite; nil for the standard one.
    /// - Throws: If the database is not ours, or not whole.
    init(
        _ folder: Folder,
        room: DiskRoom? = nil,
        startRevision: Revision?,
        isShownEarly: Bool = false,
        vfs: String? = nil
    ) throws(PersistenceFailure) {
        self.folder = folder
        self.room = room
        self.vfs = vfs
        let isService = startRevision != nil
        let unwritable = Folder.unwritable(folder.path)
        if isService, let unwritable { throw unwritable }
        let (isMade, scan, format) = try Self.checkFiles(folder, mayCreate: isService)
        hasTornLog = scan?.hasRemains ?? false
        lacksNotes = isMade && format >= Schema.format && folder.notes.isEmpty
        // A copy goes on as another store. An earlier format noted no bound.
        let isBoundKnown =
            !lacksNotes
            && !(isShownEarly
                && (folder.notes.isDamaged
                    || format < Schema.format && (scan?.frameCount ?? 0) > 0))
        if isService { try folder.syncLog() }
        do {
            let access: Connection.Access =
                unwritable != nil ? .readFrozen : isMade ? .write : .make
            connection = try Connection(folder.database, access, vfs: vfs)
            if !isMade, let startRevision {
                isNew = try Self.create(connection, startRevision)
            } else {
                isNew = false
            }
            try Self.configure(connection)
            // A file system can refuse what the permissions allow.
            guard !isService || !connection.isReadOnly else {
                throw PersistenceFailure(
                    .inputOutput,
                    "'\(folder.database)' can be read only. A service writes to it."
                )
            }
            // A reader changes nothing, and may not be able to.
            if isService {
                if format < Schema.format || folder.notes.isEmpty {
                    try folder.notes.restart(scan)
                    try Folder.sync(folder.path)
                }
                try connection.watchLog(folder.notes)
                if isMade {
                    try Self.bringForward(connection, folder, from: format, isTorn: hasTornLog)
                }
            }
            dataVersion = try connection.integer("pragma data_version") ?? 0
            try Self.checkDatabase(connection, folder)
            if isService {
                let bound = isBoundKnown ? folder.notes.revisionBound : nil
                try Self.skip(through: bound, connection, isTorn: hasTornLog)
            }
            meta = try Meta(connection)
            (lastRow, lastRevision) = try Self.last(connection, meta)
        } catch let error as DatabaseError {
            throw PersistenceFailure(error, folder.database)
        } catch let failure as PersistenceFailure {
            throw failure
        } catch {
            preconditionFailure("\(error) is of no known type.")
        }
    }

    /// Another connection, which only reads and makes checkpoints.
    func secondConnection() throws(DatabaseError) -> Connection {
        let second = try Connection(folder.database, vfs: vfs)
        try Self.configure(second)
        return second
    }

    // MARK: Before SQLite opens it

    /// Whether the database is there, and SQLite can open it without a loss; and its log and
    /// format.
    @discardableResult
    static func checkFiles(
        _ folder: Folder,
        mayCreate: Bool
    ) throws(PersistenceFailure) -> (isMade: Bool, log: LogScan?, format: Int64) {
        guard (Folder.byteCount(folder.database) ?? 0) > 0 else {
            guard !folder.hasDatabase, (Folder.byteCount(folder.log) ?? 0) == 0 else {
                throw folder.missing
            }
            guard Folder.byteCount(folder.rescued) == nil else { throw folder.missing }
            guard mayCreate else {
                throw PersistenceFailure(.inputOutput, "'\(folder.path)' has no database.")
            }
            return (false, nil, 0)
        }
        if !folder.hasDatabase, (Folder.byteCount(folder.database + "-journal") ?? 0) > 0 {
            // A process was killed while it made the database: SQLite empties it.
            return (false, nil, 0)
        }
        let format = try checkHeader(folder.database)
        let scan = try LogScan(folder.log)
        if let damage = scan.damage {
            let place =
                damage.frame == 0
                ? "its header is not valid"
                : "frame \(damage.frame), at byte \(damage.byte), is not what was written, and "
                    + "there are transactions after it"
            throw .damaged(folder.log, place, readable: nil)
        }
        // Before the third format, a log had no notes. The header has the format of the last
        // checkpoint: if there are notes, the log began after them.
        if format >= Schema.format || !folder.notes.isEmpty,
            let finding = folder.notes.finding(scan, folder.log)
        {
            throw .damaged(finding.file, finding.text, readable: nil)
        }
        return (true, scan, format)
    }

    /// Reads the numbers at fixed places of the file, the same as the pragmas `user_version` and
    /// `application_id`; returns the format.
    @discardableResult
    static func checkHeader(_ path: String) throws(PersistenceFailure) -> Int64 {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .call("open", path)
        }
        // SQLite has not opened the file yet: closing it would drop SQLite's locks.
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = unsafe pread(descriptor, &header, header.count, 0)
        guard count >= 0 else {
            throw .call("pread", path)
        }
        guard count == header.count, header.starts(with: Array("SQLite format 3\0".utf8)) else {
            throw .damaged(path, "it does not begin as a database does", readable: nil)
        }
        let format = number(header, 60)
        try check(application: number(header, 68), format: format, path)
        return format
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> Int64 {
        let word = unsafe bytes.span.bytes.unsafeLoadUnaligned(
            fromByteOffset: offset,
            as: Int32.self
        )
        return Int64(Int32(bigEndian: word))
    }

    private static func check(
        application: Int64,
        format: Int64,
        _ path: String
    ) throws(PersistenceFailure) {
        guard application == Schema.application else {
            throw PersistenceFailure(
                .foreign,
                "'\(path)' is not a database of latchkey. Choose another folder."
            )
        }
        guard format <= Schema.format else {
            throw PersistenceFailure(
                .newerFormat,
                "'\(path)' has format \(format); this version of latchkey reads up to "
                    + "\(Schema.format). Use a newer version; or let it serve this folder, "
                    + "and take its 'latchkey export' into an empty folder with 'latchkey import'."
            )
        }
        guard format >= Schema.firstFormat else {
            throw .damaged(path, "its format is \(format)", readable: nil)
        }
    }

    // MARK: With SQLite

    /// Makes the tables, if they are not there.
    ///
    /// - Returns: Whether they were not there.
    private static func create(
        _ connection: Connection,
        _ startRevision: Revision
    ) throws(DatabaseError) -> Bool {
        guard try connection.integer("select count(*) from sqlite_schema") == 0 else {
            return false
        }
        _ = try createTables(connection, startRevision)
        return true
    }

    /// Uses the old journal mode, whose transaction leaves the whole database or an empty file.
    static func createTables(
        _ connection: Connection,
        _ startRevision: Revision
    ) throws(DatabaseError) -> Meta {
        try connection.execute(
            "pragma page_size = \(Schema.pageByteCount); pragma journal_mode = delete; "
                + "pragma synchronous = extra; begin exclusive"
        )
        for statement in Schema.statements {
            try connection.execute(statement)
        }
        let meta = Meta(
            startRevision: startRevision,
            identity: .random(in: 1 ... .max),
            time: Timestamp(milliseconds: 0)
        )
        try meta.write(MetaKey.allCases, Statement(connection, Meta.writing))
        try connection.execute(
            "pragma application_id = \(Schema.application); "
                + "pragma user_version = \(Schema.format); commit"
        )
        return meta
    }

    private static func configure(_ connection: Connection) throws(DatabaseError) {
        // Debian's SQLite overwrites what is deleted with zeros, which costs writes.
        try connection.execute(
            """
            pragma journal_mode = wal;
            pragma synchronous = full;
            pragma secure_delete = off;
            pragma wal_autocheckpoint = 0;
            pragma mmap_size = 0;
            pragma temp_store = memory;
            pragma cache_size = -4096;
            pragma trusted_schema = off;
            pragma cell_size_check = on;
            """
        )
    }

    /// Migrates a whole database of an earlier format to this one, in one transaction; `header` is
    /// the format that the header has without the log.
    private static func bringForward(
        _ connection: Connection,
        _ folder: Folder,
        from header: Int64,
        isTorn: Bool
    ) throws {
        let format = try connection.integer("pragma user_version") ?? 0
        if format < Schema.format {
            try checkDatabase(connection, folder)
            let meta = try Meta(connection)
            try beginNewLog(connection, isTorn)
            try connection.execute("begin immediate")
            if format == Schema.firstFormat { try connection.execute(Schema.migration) }
            try meta.write(MetaKey.skips, Statement(connection, Meta.writing))
            try connection.execute("pragma user_version = \(Schema.format); commit")
        }
        if header < Schema.format {
            // Now the header has the format, too. If that fails, because a program reads, the notes
            // are valid all the same.
            _ = try? connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
        }
    }

    /// After a torn transaction, a later scan would take the rest of it for damage.
    private static func beginNewLog(
        _ connection: Connection,
        _ isTorn: Bool
    ) throws(DatabaseError) {
        if isTorn { try connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE) }
    }

    /// Whether a database has a position in the log of a cluster: then it is that of a replica.
    static func hasPosition(_ connection: Connection) throws(DatabaseError) -> Bool {
        let position = "select 1 from notes where revision = \(BatchWriter.positionRevision)"
        return try connection.integer(position) != nil
    }

    /// Skips revisions that a client may have been shown, of commits that were lost with
    /// `--durability interval`, or of another copy of the store; `bound` is nil if it is not known.
    private static func skip(
        through bound: Revision?,
        _ connection: Connection,
        isTorn: Bool
    ) throws(DatabaseError) {
        var meta = try Meta(connection)
        let last = try last(connection, meta)
        var later: Revision?
        // An empty database shows no revision of another copy. Its replica goes on in its cluster.
        if last.revision > meta.startRevision {
            later = .laterLife(of: last.revision, at: StoreClock.system.now())
        }
        guard let bound = bound ?? later, bound > last.revision else { return }
        // A replica gets its revisions from the log of the cluster.
        guard try !hasPosition(connection) else { return }
        try beginNewLog(connection, isTorn)
        meta[.skipRow] = last.row
        meta[.skipRevision] = Int64(bitPattern: bound)
        try connection.execute("begin immediate")
        try meta.write(MetaKey.skips, Statement(connection, Meta.writing))
        try connection.execute("commit")
    }

    private static func checkDatabase(
        _ connection: Connection,
        _ folder: Folder
    ) throws(any Error) {
        let format = try connection.integer("pragma user_version") ?? 0
        try check(
            application: try connection.integer("pragma application_id") ?? 0,
            format: format,
            folder.database
        )
        try checkSchema(connection, folder.database)
        guard let found = try connection.text("pragma quick_check(1)"), found == "ok" else {
            let finding = try connection.text("pragma quick_check(1)") ?? "no answer"
            throw PersistenceFailure.damaged(folder.database, finding, readable: nil)
        }
    }

    /// Compares the tables with those of the format, before anything else is read.
    ///
    /// A view in the place of a table could have endless rows.
    static func checkSchema(_ connection: Connection, _ path: String) throws(any Error) {
        let expected = Schema.statements(of: try connection.integer("pragma user_version") ?? 0)
        let reading = try Statement(connection, Schema.reading)
        var statements: [String] = []
        while statements.count <= expected.count, try reading.step() {
            statements.append(reading.string(0))
        }
        guard statements == expected else {
            throw PersistenceFailure.damaged(
                path,
                "its tables are not those of this format",
                readable: nil
            )
        }
    }

    /// Checks that the tables of a possibly damaged database are tables: then they have an end.
    ///
    /// - Throws: If one is a view, or computes a column.
    static func checkTables(_ connection: Connection) throws(DatabaseError) {
        let others = try connection.integer(
            """
            select count(*) from pragma_table_list t where schema = 'main' \
            and name in ('changes', 'meta', 'notes', 'stored') and (type <> 'table' \
            or exists (select 1 from pragma_table_xinfo(t.name) where hidden <> 0))
            """
        )
        guard others == 0 else {
            throw DatabaseError(
                code: DatabaseError.damage,
                text: "what should be a table is something else"
            )
        }
    }

    static func last(
        _ connection: Connection,
        _ meta: Meta
    ) throws(DatabaseError) -> (row: Int64, revision: Revision) {
        let last = try Statement(
            connection,
            "select row, revision from changes order by row desc limit 1"
        )
        guard try last.step(), last.integer(0) > meta[.storedRow] else {
            return (meta[.storedRow], max(meta.storedRevision, meta.skipRevision))
        }
        return (last.integer(0), max(Revision(bitPattern: last.integer(1)), meta.skipRevision))
    }
}
