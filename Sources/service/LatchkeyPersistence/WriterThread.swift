internal import CLatchkeySystem
internal import CSQLite
internal import Dispatch
internal import LatchkeyMetrics
internal import LatchkeySettings
internal import LatchkeyStore
internal import LatchkeySync
internal import Synchronization

/// The writing thread, with the state that only it uses.
///
/// **Design.** A commit is never taken back. A batch that cannot be written because of a full disk
/// or another program is held and tried again each second; no change is accepted meanwhile. Any
/// other failure ends the process, and the restart finds out what the disk has, unless the folder
/// is gone: then its open files are the last copy, nothing is written, and the process goes on.
///
/// With `interval`, commits are released before they are written. If the process is killed, they
/// are lost, but no later commit gets their revisions: a bound above them is on the disk first.
///
/// SAFETY: `@unchecked Sendable` because only the thread that calls ``run()`` uses it.
final class WriterThread: @unchecked Sendable {
    enum Mode {
        case normal
        /// The batch could not be written, and is tried again.
        case held
        /// Nothing is written until the process ends.
        case ended
    }

    /// The minimum time between two attempts to begin a new log.
    private static let newLogInterval = Duration.milliseconds(100)

    let loop: WriterLoop
    let writer: BatchWriter
    let room: DiskRoom
    var mode = Mode.normal
    /// Whether the log may have frames after its last transaction, which a later scan would take
    /// for damage.
    var needsNewLog: Bool
    private var newLogFailure: (BatchFailure, until: ContinuousClock.Instant)?
    var loggedFailure = ""
    private var loggedNoteFailure = ""
    var batch: [QueuedCommit] = []
    /// A position after the commits of the batch, and a revision that all of these follow.
    private var position: [UInt8]?
    private var skip: Revision?
    /// Rows that have come while there was something to compact, less those that were compacted
    /// for them.
    private var uncompactedCount = 0
    /// Compaction waits after a failure.
    var compactsAfter = ContinuousClock.now
    var nextTry = ContinuousClock.now
    var nextLook = ContinuousClock.now
    /// A log that could not be shortened is left alone until then.
    var shortensAfter = ContinuousClock.now
    private var nextSync = ContinuousClock.now
    /// Half of the commits that lately waited or were written at the same time.
    private var gathering = Gathering(percent: 50, fading: 16)
    /// The time when the last batch was on the disk.
    private var lastBatch = ContinuousClock.now
    /// With more frames, the writer begins a new log.
    private var restartFrameCount: Int

    init(_ loop: WriterLoop, _ database: OpenedDatabase) throws(DatabaseError) {
        guard let room = database.room else { preconditionFailure("Who writes has room.") }
        self.room = room
        self.loop = loop
        writer = try BatchWriter(database, loop.tuning)
        restartFrameCount = Self.restartFrameCount(loop)
        needsNewLog = database.hasTornLog
        syncLater()
    }

    func run() {
        loop.writes(true)
        defer { loop.writes(false) }
        lookAtRoom()
        while true {
            let isStopping = waitForWork()
            if loop.isLost || loop.hasFailed { mode = .ended }
            if ContinuousClock.now >= nextLook { lookAtRoom() }
            switch mode {
            case .normal:
                makeTransaction(isProbe: false)
            case .held where ContinuousClock.now >= nextTry || isStopping:
                makeTransaction(isProbe: batch.isEmpty)
            case .held:
                break
            case .ended:
                abandon()
            }
            if isStopping, endsInbox() {
                break
            }
        }
        end()
    }

    /// Ends the inbox, if nothing is left that can be written; returns whether it has ended.
    ///
    /// One step: a commit that came in between would be released with `interval`, and never
    /// written.
    private func endsInbox() -> Bool {
        loop.inbox.write { inbox in
            inbox.hasEnded =
                switch mode {
                case .normal:
                    batch.isEmpty && !inbox.queue.isReady && position ?? inbox.position == nil
                // A held batch was tried once more.
                case .held, .ended: true
                }
            return inbox.hasEnded
        }
    }

    // MARK: Waiting

    /// Waits, and takes the next batch, if the last one is done; returns whether to stop.
    private func waitForWork() -> Bool {
        loop.writes(false)
        defer { loop.writes(true) }
        let isWaiting = mode == .normal
        let compacts = compacts
        let interval = isWaiting && loop.durability != .always
        let hasEnded = mode == .ended
        let isReady = { @Sendable [loop] (inbox: WriterLoop.Inbox) in
            inbox.isStopping || !hasEnded && (loop.isLost || loop.hasFailed)
                || isWaiting && inbox.queue.isReady
                    && (!interval || inbox.queue.hasBatch || inbox.isSkipping)
                || compacts || inbox.round != nil
                || hasEnded && loop.durability == .always && inbox.queue.isReady && loop.isLost
        }
        let mayTake = isWaiting && batch.isEmpty
        if mayTake, !interval {
            gather()
        }
        let take = { (inbox: inout WriterLoop.Inbox) -> (Bool, CompactionRound?, [QueuedCommit]) in
            var batch: [QueuedCommit] = []
            if mayTake {
                inbox.queue.take(into: &batch)
                // The position is after all commits.
                if !inbox.queue.isReady, let position = inbox.position.take() {
                    self.position = position
                }
                if !batch.isEmpty || self.position != nil, let skip = inbox.skip.take() {
                    self.skip = skip
                }
            }
            return (inbox.isStopping, inbox.round.take(), batch)
        }
        let taken: (Bool, CompactionRound?, [QueuedCommit])
        if let deadline = deadline {
            taken =
                loop.inbox.write(when: isReady, deadline: deadline, take)
                ?? loop.inbox.write { take(&$0) }
        } else {
            taken = loop.inbox.write(when: isReady, take)
        }
        if let round = taken.1 {
            writer.round = round
        }
        if mayTake {
            batch = taken.2
        }
        return taken.0
    }

    /// Waits until half of the commits in flight are there, but not long.
    ///
    /// One half is written while the other is answered: there is something to do during each sync.
    /// A few clients do not wait, except for some batches after a burst.
    private func gather() {
        let deadline = lastBatch + loop.tuning.gatherInterval
        guard let count = gathering.awaitedCount, ContinuousClock.now < deadline else { return }
        _ = loop.inbox.write(
            when: { $0.isStopping || $0.queue.readyCount >= UInt64(count) || $0.queue.hasBatch },
            deadline: deadline,
            { _ in }
        )
    }

    private var deadline: ContinuousClock.Instant? {
        switch mode {
        // Compaction may wait for the end of its pause.
        case .normal where loop.durability == .always:
            [writer.hasCompaction ? compactsAfter : nil, writer.noteIsDue, lookIsDue]
                .compactMap(\.self).min()
        case .normal: min(nextSync, lookIsDue ?? nextSync)
        case .held: nextTry
        case .ended: nil
        }
    }

    /// Whether a slice of compaction is due even if no commit comes.
    private var compacts: Bool {
        mode == .normal && writer.hasCompaction && ContinuousClock.now >= compactsAfter
    }

    // MARK: Writing

    /// With `interval`: lets further revisions be shown before they are on the disk.
    ///
    /// Called before the threads start, and then by this one.
    func raiseBound() {
        guard loop.durability != .always, !loop.isGrouped else { return }
        let (last, bound) = loop.inbox.read { ($0.queue.end - 1, $0.releaseBound) }
        let count = loop.tuning.unwrittenCountMax
        guard bound < last + (count + 1) / 2 else { return }
        guard InputCheck.revision(last + count) != nil else { return }
        do throws(PersistenceFailure) {
            guard try writer.notes.bound(last + count) else { return }
            // The next start goes on at the bound: a client that had seen it could not tell.
            loop.inbox.write { $0.releaseBound = last + count - 1 }
        } catch {
            // Commits are released when they are on the disk.
            log(error)
        }
    }

    func makeTransaction(isProbe: Bool) {
        raiseBound()
        var extra = BatchWriter.Extra(isProbe: isProbe)
        // More rows than come, so that a round ends before the next one is due.
        extra.rowCount = batch.reduce(0) { $0 + $1.rowCount }
        let (dueCount, sliceCount) = (uncompactedCount * 3 / 2, loop.tuning.sliceCount)
        let isDue = batch.isEmpty || dueCount >= sliceCount
        extra.sliceCount = min(
            max(dueCount, sliceCount),
            max(extra.rowCount * 3 / 2, BatchWriter.sliceCountMax)
        )
        extra.compacts = compacts && isDue
        (extra.position, extra.skip) = (position, skip)
        guard !batch.isEmpty || isProbe || extra.compacts || position != nil else {
            noteFrames()
            return syncLater()
        }
        if extra.compacts {
            let lifetime = Int64(loop.noteLifetime.wholeMilliseconds)
            // In groups, the age of notes counts by the time of commits: other clocks can lag.
            let now = loop.isGrouped ? writer.lastTime : StoreClock.system.now()
            extra.noteTime.milliseconds = now.milliseconds - lifetime
        }
        let start = latchkey_system_nanoseconds()
        do {
            try prepareLog()
            loop.statistics.compactedRows.add(UInt64(try writer.write(batch, extra)))
        } catch {
            if extra.compacts { compactsAfter = .now + .seconds(1) }
            return fail(error)
        }
        succeed(extra, since: start)
    }

    /// Makes sure that the log can take a transaction.
    private func prepareLog() throws(BatchFailure) {
        if needsNewLog {
            if let (failure, until) = newLogFailure, ContinuousClock.now < until {
                throw failure
            }
            do {
                try writer.beginNewLog(SQLITE_CHECKPOINT_TRUNCATE)
                needsNewLog = false
                newLogFailure = nil
            } catch {
                var failure = BatchFailure.of(error, writer.path)
                if error.isBusy {
                    failure = BatchFailure(
                        consequence: failure.consequence,
                        message: "A new log of the database cannot begin, because a program reads "
                            + "the database: \(error.text)."
                    )
                }
                newLogFailure = (failure, .now + Self.newLogInterval)
                throw failure
            }
        }
        if writer.frames.count > restartFrameCount {
            try restartLog()
        }
        guard writer.frames.byteCount <= loop.logByteCountMax else {
            throw BatchFailure(
                consequence: .held(.failing),
                message: "The log of the database is longer than \(loop.logByteCountMax) bytes, "
                    + "because another program has held a transaction open since then. End it."
            )
        }
    }

    private func restartLog() throws(BatchFailure) {
        do {
            try writer.beginNewLog(SQLITE_CHECKPOINT_RESTART)
            loop.statistics.checkpoints.add()
            restartFrameCount = Self.restartFrameCount(loop)
        } catch {
            guard error.isBusy || error.isFull else { throw .of(error, writer.path) }
            // A program reads, or the other thread makes a checkpoint. At the limit, it is tried
            // before each batch.
            let later = writer.frames.count + loop.tuning.checkpointFrameCount / 4
            restartFrameCount = min(later, loop.logByteCountMax / LogScan.frameByteCount - 1)
        }
    }

    /// Far below the limit of the log.
    private static func restartFrameCount(_ loop: WriterLoop) -> Int {
        min(loop.tuning.restartFrameCount, loop.logByteCountMax / LogScan.frameByteCount / 2)
    }

    private func succeed(_ extra: BatchWriter.Extra, since start: UInt64) {
        noteFrames()
        let now = latchkey_system_nanoseconds()
        loop.lastSync.store(now, ordering: .relaxed)
        let byteCount = batch.reduce(0) { $0 + $1.byteCount }
        loop.statistics.syncs.add()
        loop.statistics.batchDurations.observe(now - start)
        if !batch.isEmpty {
            loop.statistics.batchCommits.observe(UInt64(batch.count))
            loop.statistics.commits.add(UInt64(batch.count))
            loop.statistics.payloadBytes.add(UInt64(byteCount))
        }
        if extra.compacts {
            uncompactedCount = max(0, uncompactedCount - extra.sliceCount * 2 / 3)
        }
        // Rows that arrive while idle would form one long slice, for which all answers would wait.
        uncompactedCount = writer.hasCompaction ? uncompactedCount + extra.rowCount : 0
        if mode != .normal {
            mode = .normal
            loggedFailure = ""
            loop.log(false, "writes-go-on", [])
            lookAtRoom()
        }
        report(byteCount)
        if !batch.isEmpty {
            gathering.finishes(inFlight: batch.count + loop.inbox.read { $0.queue.count })
            lastBatch = .now
            loop.releases.write { $0.revision = writer.lastRevision }
        }
        batch.removeAll(keepingCapacity: true)
        (position, skip) = (nil, nil)
        syncLater()
        // After the release: no answer waits for it.
        if room.isLow || room.isTightNow() { lookAtRoom() }
    }

    private func noteFrames() {
        if let failure = writer.noteFrames() { log(failure) }
    }

    /// Logs that the log cannot be noted: the same reason once.
    func log(_ failure: PersistenceFailure) {
        guard failure.isFull else { return loop.fail(failure.message) }
        guard failure.message != loggedNoteFailure else { return }
        loop.log(true, "log-note-fails", [("reason", failure.message)])
        loggedNoteFailure = failure.message
    }

    /// Also when there was nothing to write: a wait for a past deadline would end at once.
    private func syncLater() {
        if case .interval(let interval) = loop.durability { nextSync = .now + interval }
    }

    /// Tells the other threads how far the writer is.
    func report(_ byteCount: Int, _ health: PersistenceStatus.Health = .healthy) {
        let compaction = writer.compactionProgress
        loop.progress.write { progress in
            progress.health = health
            progress.durableRevision = writer.lastRevision
            progress.position = writer.lastPosition ?? progress.position
            progress.lastRow = writer.lastRow
            progress.changeByteCount += byteCount
            if progress.storedRevision != writer.meta.storedRevision {
                progress.storedRevision = writer.meta.storedRevision
                // The bytes of the rows that are left, on average.
                let (left, all) = (
                    writer.lastRow - writer.meta[.storedRow], writer.lastRow - progress.storedRow
                )
                progress.changeByteCount = progress.changeByteCount / max(1, Int(all)) * Int(left)
                progress.planByteCount = 0
                loop.statistics.compactionRounds.add()
            }
            progress.storedRow = writer.meta[.storedRow]
            progress.storedCount = writer.meta[.storedCount]
            if writer.frames.count < progress.checkpointedCount {
                progress.checkpointedCount = 0
            }
            progress.frameCount = writer.frames.count
            progress.compaction = compaction
        }
    }
}
