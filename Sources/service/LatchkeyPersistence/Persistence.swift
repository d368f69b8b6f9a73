package import LatchkeyStore
internal import LatchkeySync
internal import Synchronization

/// The folder that keeps a store's commits: one SQLite database, written by one thread.
///
/// First ``readStored(_:)``, then ``readChanges(_:)`` and ``readNotes(_:)``, then
/// ``start(historyOldest:noteLifetime:isGrouped:released:failed:)``.
///
/// **Design.** The writer is a ``WriterLoop``, which is set once and found without a lock. It lives
/// as long as this, but only its threads keep the database, so ``finish()`` closes the files.
package final class Persistence: Sendable {
    /// Writes a line to the log of the service: an event and its fields.
    package typealias Log =
        @Sendable (_ isError: Bool, _ event: String, _ fields: [(String, String)]) -> Void

    /// Whether the folder had no database.
    package let isNew: Bool
    /// The revision before the first commit of all, at which nothing was stored.
    package let startRevision: Revision
    /// The revision of the table `stored`: ``readChanges(_:)`` begins after it.
    package let storedRevision: Revision
    /// Commits up to here cannot be part of a history: the properties that they replaced are not
    /// known any more.
    ///
    /// At least ``storedRevision``; larger if a round of compaction was not at its end, or if
    /// revisions were skipped, since commits may be lost.
    package let historyRevision: Revision
    /// The revision of the last commit, or the one before the first.
    package let lastRevision: Revision
    /// A text that only this database and its backups have.
    package let identity: String
    /// The latest time of a commit up to ``storedRevision``.
    package let storedTime: Timestamp
    /// How many properties ``readStored(_:)`` reads.
    package let storedCount: Int
    /// How many effects ``readChanges(_:)`` reads.
    package let changeCount: Int
    package let statistics = PersistenceStatistics()

    /// Bytes of the commits that were read.
    private let changeByteCount = Atomic(0)
    private let tuning: Tuning
    private let database: Guarded<OpenedDatabase?>
    /// Reads for backups, from the files that were opened; one backup is made at a time.
    private let copied = Guarded<Connection?>(nil)
    private let copying = Guarded(())
    private let settings: PersistenceSettings
    private let log: Log
    /// The writer, once it is started: without a lock, since each commit reads it.
    private let started = AtomicLazyReference<WriterLoop>()

    /// Opens the folder, or makes it, and looks for damage.
    ///
    /// - Parameters:
    ///   - path: The folder.
    ///   - settings: The path in them is not used.
    ///   - startRevision: The revision before the first commit of a new database.
    ///   - log: Takes events.
    /// - Throws: If the folder cannot be used, with a message that says why.
    package convenience init(
        opening path: String,
        _ settings: PersistenceSettings = .standard,
        startRevision: Revision,
        log: @escaping Log = { _, _, _ in }
    ) throws(PersistenceFailure) {
        var tuning = Tuning()
        tuning.roundCountMin = Int64(settings.compactionCountMin)
        tuning.reserveByteCountMax = DiskRoom.reserveByteCountMax
        try self.init(
            opening: path,
            settings,
            startRevision: startRevision,
            log: log,
            tuning: tuning
        )
    }

    init(
        opening path: String,
        _ settings: PersistenceSettings,
        startRevision: Revision,
        log: @escaping Log,
        tuning: Tuning
    ) throws(PersistenceFailure) {
        let folder = try Folder(path, mayCreate: true)
        let database = try OpenedDatabase(
            folder,
            room: DiskRoom(folder, tuning),
            startRevision: startRevision,
            isShownEarly: settings.durabilityChoice == .interval,
            vfs: tuning.vfs
        )
        if database.lacksNotes {
            log(false, "log-is-not-noted", [("folder", path)])
        }
        self.database = Guarded(database)
        self.tuning = tuning
        self.settings = settings
        self.log = log
        isNew = database.isNew
        self.startRevision = database.meta.startRevision
        storedRevision = database.meta.storedRevision
        historyRevision = database.meta.historyRevision
        lastRevision = database.lastRevision
        identity = Identity(number: database.meta[.identity]).text
        storedTime = Timestamp(milliseconds: database.meta[.storedTime])
        storedCount = Int(database.meta[.storedCount])
        changeCount = Int(database.lastRow - database.meta[.storedRow])
    }

    /// The identity of a data folder.
    package struct Identity: Sendable {
        let number: Int64

        package var text: String { String(UInt64(bitPattern: number), radix: 16) }

        init(number: Int64) {
            self.number = number
        }

        /// Makes a new one.
        package init() {
            number = .random(in: .min ... .max)
        }
    }

    /// Whether a folder has a database, or should have one.
    package static func hasData(_ path: String) -> Bool {
        Folder.byteCount(path + "/" + Folder.databaseName) != nil
    }

    /// Whether a folder has a database that was made completely: it has a start revision.
    package static func hasWholeData(_ path: String) -> Bool {
        let database = path + "/" + Folder.databaseName
        return (Folder.byteCount(database) ?? 0) > 0
            && (Folder.byteCount(database + "-journal") ?? 0) == 0
    }

    /// Reads the properties of the table `stored`, in the order of their names.
    package func readStored(
        _ body: ([Property]) throws(PersistenceFailure) -> Void
    ) throws(PersistenceFailure) {
        try RowReader(opened).readStored(body)
    }

    /// Reads the commits after ``storedRevision``, in the order of their revisions.
    ///
    /// Commits up to ``historyRevision`` can delete properties that are not there, and replace
    /// properties of later revisions.
    package func readChanges(
        _ body: ([StoredCommit]) throws(PersistenceFailure) -> Void
    ) throws(PersistenceFailure) {
        var read = RowReader.ChangesRead(revision: storedRevision)
        try RowReader(opened).readChanges(&read) { commits throws(PersistenceFailure) in
            let byteCount = commits.lazy.flatMap(\.effects).reduce(0) { sum, effect in
                unsafe sum + effect.name.bytes.count + (effect.property?.valueBytes.count ?? 0)
            }
            changeByteCount.wrappingAdd(byteCount, ordering: .relaxed)
            try body(commits)
        }
    }

    /// Reads the notes in the order of their revisions: the revision and the time of the commit,
    /// and the note.
    package func readNotes(
        _ body: (Revision, Timestamp, [UInt8]) throws(PersistenceFailure) -> Void
    ) throws(PersistenceFailure) {
        try RowReader(opened).readNotes { (revision, time, note) throws(PersistenceFailure) in
            if revision != BatchWriter.positionRevision { try body(revision, time, note) }
        }
    }

    /// Reads the position that was stored last; nil if there is none.
    package func readPosition() throws(PersistenceFailure) -> [UInt8]? {
        try RowReader(opened).position()
    }

    /// Starts the threads that write.
    ///
    /// - Parameters:
    ///   - historyOldest: The lowest revision after which the history holds commits. Compaction
    ///     does not go past it.
    ///   - noteLifetime: Older notes are deleted when their commits are compacted.
    ///   - isGrouped: Whether commits are written in the groups that ``seal(through:_:)`` ends,
    ///     some time after they were released.
    ///   - released: Called with the latest revision that is on the disk, on a thread of its own;
    ///     or, if the folder is gone, with the latest one that is not, and never will be.
    ///   - failed: Called when the process has to end, since the disk cannot be relied upon.
    /// - Throws: If the database cannot be opened a second time.
    package func start(
        historyOldest: @escaping @Sendable () -> Revision,
        noteLifetime: Duration,
        isGrouped: Bool = false,
        released: @escaping @Sendable (Revision, _ isWritten: Bool) -> Void,
        failed: @escaping @Sendable () -> Void
    ) throws(PersistenceFailure) {
        let database = opened
        precondition(started.load() == nil, "start is called once.")
        let loop = try WriterLoop(
            database,
            settings,
            tuning,
            noteLifetime: noteLifetime,
            isGrouped: isGrouped,
            changeByteCount: changeByteCount.load(ordering: .relaxed),
            WriterLoop.Callbacks(
                historyOldest: historyOldest,
                released: released,
                failed: failed
            ),
            statistics,
            log
        )
        do {
            try loop.start(database)
            let source = try database.secondConnection()
            // Opens the files now, while they have their names.
            _ = try source.integer("select count(*) from meta")
            copied.write { $0 = source }
        } catch {
            throw PersistenceFailure(error, database.folder.database)
        }
        _ = started.storeIfNil(loop)
    }

    /// Takes a commit that has effects, to be written; never blocks.
    ///
    /// Commits can come out of the order of their revisions. One that comes after ``finish()`` is
    /// never released.
    package func append(_ commit: Commit, note: CommitNote?) {
        started.load()?.append(QueuedCommit(commit, note: note))
    }

    /// Ends a group of commits, and stores a position with its last one.
    ///
    /// Both are written in one transaction. A group without commits changes only the position.
    /// Blocks while too much is to be written. One thread calls it and ``append(_:note:)``.
    package func seal(through revision: Revision, _ position: [UInt8]) {
        started.load()?.seal(through: revision, position)
    }

    /// Lets the next commit follow a later revision, which is stored with the position of the group
    /// that begins now.
    ///
    /// Blocks until all commits before are given to the disk: that is rare. Called like
    /// ``seal(through:_:)``, while no group is open.
    package func skip(through revision: Revision) {
        started.load()?.skip(through: revision)
    }

    /// Ends the waits of ``seal(through:_:)``, also while the disk takes nothing: the appender
    /// ends.
    package func takesAll() {
        started.load()?.takesAll()
    }

    /// The folder, until ``finish()``.
    var folder: Folder? { database.read { $0?.folder } }

    private var opened: OpenedDatabase {
        guard let database = database.read({ $0 }) else {
            preconditionFailure("finish was not called before.")
        }
        return database
    }

    /// The reason why a change that is decided now is not expected to be written; nil if it is.
    package var unavailability: Unavailability? {
        guard let loop = started.load() else { return .failing }
        return loop.unavailability
    }

    /// Whether commits can be written; does not access the disk, which can hang.
    package var health: PersistenceStatus.Health { started.load()?.health ?? .healthy }

    package var status: PersistenceStatus { started.load()?.status ?? PersistenceStatus() }

    /// Whether the files that are open are not those of the folder any more.
    package var isLost: Bool { started.load()?.isLost ?? false }

    /// Copies the database as of one revision into a file, and checks the copy; blocks meanwhile.
    ///
    /// It is read from the open files, also when they have no name any more. The file is replaced.
    ///
    /// - Throws: Also if the copy is not correct; then there is no file.
    package func backup(into file: String) throws(PersistenceFailure) -> CheckReport {
        guard let source = copied.read({ $0 }) else {
            throw PersistenceFailure(.stopped, "The service ends.")
        }
        return try copying.write { _ throws(PersistenceFailure) in
            try Copy.replace(file, source)
        }
    }

    /// Checks once whether the folder is still there, as a thread does each second.
    func lookAtFolder() { started.load()?.lookAtFolder() }

    /// How the writing ended.
    package enum End: Sendable {
        /// All that was appended is on the disk.
        case written
        /// The disk was full.
        case full
        /// A write or a sync has failed, or the folder is gone.
        case failed
    }

    /// Writes the waiting commits, and closes the files.
    package func finish() -> End {
        let end = started.load()?.finish() ?? .written
        copied.write { $0 = nil }
        database.write { $0 = nil }
        return end
    }
}
