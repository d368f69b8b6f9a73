internal import CLatchkeySystem
internal import Dispatch
internal import LatchkeyStore
internal import LatchkeySync
internal import Synchronization

/// The threads that write: one writes batches and syncs them, one releases them, one makes
/// checkpoints and plans compaction.
///
/// **Design.** The writer waits for `inbox` only. Adding a commit never blocks for the disk, and
/// the writer never holds the inbox while it writes. The releaser makes the calls, so that answers
/// do not delay the next sync. `connection` and everything of ``BatchWriter`` is used by the writer
/// only; the other thread has a connection of its own.
///
/// A batch is one transaction. The ``WriterThread/Mode`` decides about a failed one.
final class WriterLoop: Sendable {
    /// The calls to the user of the loop.
    struct Callbacks: Sendable {
        let historyOldest: @Sendable () -> Revision
        let released: @Sendable (Revision, _ isWritten: Bool) -> Void
        let failed: @Sendable () -> Void
    }

    struct Inbox: Sendable {
        var queue: CommitQueue
        /// In `interval`: up to here, commits were released before they were written.
        var released: Revision
        /// No later commit is released before it is written: see ``WriterThread/raiseBound()``.
        var releaseBound: Revision
        var isStopping = false
        /// Whether ``WriterLoop/seal(through:_:)`` waits while too much is to be written.
        var isBounded = true
        /// Whether nothing is written any more.
        var hasEnded = false
        /// A round of compaction that the writer has not begun.
        var round: CompactionRound?
        /// A position after written commits, which no waiting commit has.
        var position: [UInt8]?
        /// The revision that the next commit follows, if revisions were skipped before it.
        var skip: Revision?
        /// Whether ``WriterLoop/skip(through:)`` waits until all commits before are taken.
        var isSkipping = false
        /// Whether no more commits are taken, since an earlier one is not written.
        var isClosed = false
    }

    /// The progress of the writer, for the other threads.
    struct Progress: Sendable {
        var health = PersistenceStatus.Health.healthy
        var durableRevision: Revision
        /// The position that is on the disk; nil if none was written.
        var position: [UInt8]?
        var storedRevision: Revision
        var storedRow: Int64
        var storedCount: Int64
        var lastRow: Int64
        /// Bytes of names and values in `changes`.
        var changeByteCount: Int
        /// The frames of the log.
        var frameCount = 0
        /// How many of them a checkpoint has seen.
        var checkpointedCount = 0
        /// How much of a round is done, from 0 to 1; nil if there is nothing to compact.
        var compaction: Double?
        /// The last row of the latest round that was planned.
        var plannedRow: Int64 = 0
        /// The next round is not planned before this row is written, or so many bytes are.
        var planRow: Int64 = 0
        var planByteCount = 0
        /// While the disk is low, not before this row.
        var planLowRow: Int64 = 0
        var isStopping = false
        /// While the disk is low, all is compacted, in rounds of so many bytes; else nil.
        var lowRoundByteCount: Int?
        /// Whether the changes of the history are then compacted, too, since that makes room.
        var dropsHistory = false
    }

    struct Releases: Sendable {
        /// Commits up to here are on the disk.
        var revision: Revision
        /// Commits up to here are not, and never will be: the folder is gone.
        var abandoned: Revision = 0
        var isStopping = false
    }

    let durability: Durability
    let logByteCountMax: Int
    private let databasePath: String
    private let logPath: String
    let noteLifetime: Duration
    /// Whether commits are written in groups, each with a position.
    let isGrouped: Bool
    let callbacks: Callbacks
    let statistics: PersistenceStatistics
    let log: Persistence.Log
    let inbox: Guarded<Inbox>
    let releases: Guarded<Releases>
    let progress: Guarded<Progress>
    let tuning: Tuning
    /// The number of the reason why no change is accepted; 0 while changes are accepted.
    ///
    /// Relaxed: a change that is decided at the moment of a failure waits, as those before it.
    let refused = Atomic<UInt8>(0)
    /// Whether the process is to end, since a write or a sync has failed.
    let failed = Atomic(false)
    /// Nanoseconds of the monotonic clock when the writing thread began to work; 0 while it waits.
    let writeStart = Atomic<UInt64>(0)
    /// Nanoseconds of the monotonic clock at the last sync.
    let lastSync = Atomic(latchkey_system_nanoseconds())
    private let looks = Guarded(FolderLooks())
    private let folderWatch: FolderWatch
    /// Whether the looks end; not in the inbox, each change of which would check it.
    private let endsLooks = Guarded(false)
    /// Whether the folder is gone: later writes are lost when the process ends.
    private let lost = Atomic(false)
    private let threads = ThreadGroup()
    private let releaser = ThreadGroup()

    init(
        _ database: OpenedDatabase,
        _ settings: PersistenceSettings,
        _ tuning: Tuning,
        noteLifetime: Duration,
        isGrouped: Bool,
        changeByteCount: Int,
        _ callbacks: Callbacks,
        _ statistics: PersistenceStatistics,
        _ log: @escaping Persistence.Log
    ) throws(PersistenceFailure) {
        folderWatch = try FolderWatch(database.folder)
        databasePath = database.folder.database
        logPath = database.folder.log
        // Commits in groups are kept elsewhere, too: no client waits for the disk.
        durability = isGrouped ? .interval(.seconds(1)) : settings.durability
        self.isGrouped = isGrouped
        logByteCountMax = settings.logByteCountMax
        self.noteLifetime = noteLifetime
        self.callbacks = callbacks
        self.statistics = statistics
        self.log = log
        let revision = database.lastRevision
        let queue = CommitQueue(after: revision, isGrouped: isGrouped)
        inbox = Guarded(
            Inbox(queue: queue, released: revision, releaseBound: isGrouped ? .max : revision)
        )
        releases = Guarded(Releases(revision: revision))
        self.tuning = tuning
        progress = Guarded(
            Progress(
                durableRevision: revision,
                storedRevision: database.meta.storedRevision,
                storedRow: database.meta[.storedRow],
                storedCount: database.meta[.storedCount],
                lastRow: database.lastRow,
                changeByteCount: changeByteCount
            )
        )
    }

    /// Starts the threads, which keep the database until they end.
    func start(_ database: OpenedDatabase) throws(DatabaseError) {
        let writer = try WriterThread(self, database)
        writer.raiseBound()
        let maintenance = Maintenance(self, try database.secondConnection(), database.meta)
        let revision = database.lastRevision
        threads.start { writer.run() }
        threads.start { maintenance.run() }
        releaser.start { self.release(after: revision) }
        ThreadGroup.startAlone { self.watchFolder() }
    }

    // MARK: The folder

    private func watchFolder() {
        func ends() -> Bool {
            let next = ContinuousClock.now + tuning.lookInterval
            return endsLooks.write(when: { $0 }, deadline: next, { $0 }) ?? false
        }
        while !ends() { lookAtFolder() }
    }

    /// Checks once whether the folder is still there.
    func lookAtFolder() {
        let finding = folderWatch.look()
        let line = looks.write { $0.take(finding) }
        if loss != nil { beLost() }
        if let line { log(line.isError, line.event, [("reason", line.2)]) }
    }

    /// Whether the folder is gone, by one look.
    ///
    /// Called after a failed write, and at the end: SQLite deletes the log by its name, which can
    /// be the log of another folder by now.
    func loses() -> Bool {
        if loss == nil, case .gone(let reason) = folderWatch.look() {
            let sentence = looks.write { $0.lose(reason) }
            beLost()
            log(true, "data-folder-gone", [("reason", sentence)])
        }
        return loss != nil
    }

    private func beLost() {
        guard !lost.exchange(true, ordering: .acquiringAndReleasing) else { return }
        refuse(.gone)
        // The conditions of the inbox check the folder, too.
        inbox.write { _ in }
    }

    /// Acquiring: pairs with the exchange in `beLost`.
    var isLost: Bool { lost.load(ordering: .acquiring) }

    /// The reason why the folder is gone; nil while it is not.
    var loss: String? { looks.read { $0.loss } }

    /// Called by any thread.
    func append(_ queued: QueuedCommit) {
        let released = inbox.write { inbox -> Revision? in
            guard !inbox.hasEnded else {
                return nil
            }
            // The process ends, and its log has them.
            guard !inbox.isClosed else { return queued.commit.revision }
            inbox.queue.add(queued)
            guard durability != .always else {
                return nil
            }
            let end = min(inbox.queue.end - 1, inbox.releaseBound)
            // A group is written when it is whole: its commits must not wait for that.
            guard end > inbox.released, isGrouped || hasRoom(inbox) else {
                return nil
            }
            inbox.released = end
            return end
        }
        if let released {
            callbacks.released(released, true)
        }
    }

    private func hasRoom(_ inbox: Inbox) -> Bool {
        inbox.queue.count <= tuning.earlyCountMax
            && inbox.queue.byteCount <= tuning.earlyByteCountMax
    }

    /// Ends a group, and waits while too much is to be written.
    func seal(through revision: Revision, _ position: [UInt8]) {
        inbox.write { inbox in
            guard !inbox.hasEnded, !inbox.isClosed else { return }
            inbox.position = inbox.queue.seal(through: revision, position) ? nil : position
        }
        inbox.write(
            when: {
                hasRoom($0) && !isLost || $0.hasEnded || $0.isStopping || !$0.isBounded
            },
            { _ in }
        )
    }

    /// Lets the next commit follow a later revision, once all before it have left the queue.
    ///
    /// The commits of the queue are numbered without a gap. A position that was not written yet is
    /// not needed: the one of the group that begins comes with the revision.
    func skip(through revision: Revision) {
        inbox.write { $0.isSkipping = true }
        inbox.write(
            when: { $0.queue.count == 0 || $0.hasEnded || !$0.isBounded },
            { inbox in
                inbox.isSkipping = false
                guard inbox.queue.count == 0 else {
                    inbox.isClosed = true
                    return
                }
                inbox.queue.drop(after: revision)
                (inbox.position, inbox.skip, inbox.released) = (nil, revision, revision)
            }
        )
    }

    func takesAll() {
        inbox.write { $0.isBounded = false }
    }

    /// Does not access the disk, which can hang.
    var health: PersistenceStatus.Health {
        let health = loss.map { .failed($0, endsByItself: false) } ?? progress.read { $0.health }
        guard health == .healthy, let hang else { return health }
        let sentence = "The disk has not answered a write for \(hang.components.seconds) s."
        return .failed(sentence, endsByItself: true)
    }

    var status: PersistenceStatus {
        let progress = progress.read { $0 }
        var status = PersistenceStatus()
        status.health = health
        status.durableRevision = progress.durableRevision
        status.position = progress.position
        status.pendingCount = inbox.read { $0.queue.count }
        // A sync can come between the two reads.
        let (synced, now) = (lastSync.load(ordering: .relaxed), latchkey_system_nanoseconds())
        status.lastSyncAge = .nanoseconds(Int64(clamping: now > synced ? now - synced : 0))
        status.logByteCount = Folder.byteCount(logPath) ?? 0
        status.databaseByteCount = Folder.byteCount(databasePath) ?? 0
        status.storedRevision = progress.storedRevision
        status.changeCount = Int(progress.lastRow - progress.storedRow)
        status.compactionProgress = progress.compaction
        return status
    }

    /// Ends all threads; returns whether all that could be written at the call is on the disk.
    ///
    /// Properties can expire meanwhile: no client is told of those commits.
    func finish() -> Persistence.End {
        let last = inbox.write { inbox in
            inbox.isStopping = true
            return inbox.queue.next + inbox.queue.readyCount - 1
        }
        progress.write { $0.isStopping = true }
        endsLooks.write { $0 = true }
        threads.join()
        releases.write { $0.isStopping = true }
        releaser.join()
        let isHeld = unavailability == .full
        refuse(.stopped)
        let progress = progress.read { $0 }
        guard loss == nil, !hasFailed else { return .failed }
        guard progress.health == .healthy, progress.durableRevision >= last else {
            return isHeld ? .full : .failed
        }
        return .written
    }

    // MARK: The releaser

    private func release(after revision: Revision) {
        var (released, isHanging) = (revision, false)
        while true {
            let next = releases.write(
                when: { [released] in
                    max($0.revision, $0.abandoned) > released || $0.isStopping
                },
                deadline: .now + tuning.lookInterval,
                { $0 }
            )
            isHanging = noteHang(isHanging)
            guard let next else { continue }
            if next.revision > released {
                released = next.revision
                callbacks.released(released, true)
            } else if next.abandoned > released {
                released = next.abandoned
                callbacks.released(released, false)
            } else if next.isStopping {
                return
            }
        }
    }
}
