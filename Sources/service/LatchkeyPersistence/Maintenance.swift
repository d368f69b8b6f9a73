internal import CSQLite
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeySync

/// The work of the third thread: checkpoints, and the plans of compaction.
///
/// **Design.** It has a connection of its own and writes no row. Each reading is short, because a
/// log cannot start again while a connection reads it.
///
/// SAFETY: `@unchecked Sendable` because only the thread that calls ``run()`` uses it.
final class Maintenance: @unchecked Sendable {
    /// The number of changes to wait for, while the disk is low and the history keeps all of them.
    private static let lowStep: Int64 = 1000
    private static let idleInterval = Duration.seconds(1)

    private let loop: WriterLoop
    private let connection: Connection
    /// As at the start.
    private let meta: Meta

    init(_ loop: WriterLoop, _ connection: Connection, _ meta: Meta) {
        self.loop = loop
        self.connection = connection
        self.meta = meta
    }

    func run() {
        // A round that a former process did not end is made first.
        if meta[.roundRow] > meta[.storedRow] {
            plan(loop.progress.read { $0 }, isForced: true)
        }
        while true {
            let tuning = loop.tuning
            let progress = loop.progress.write(
                when: { $0.isStopping || $0.wantsCheckpoint(tuning) || $0.wantsRound(tuning) },
                deadline: .now + Self.idleInterval,
                { $0 }
            )
            guard let progress else {
                continue
            }
            if progress.isStopping {
                return
            }
            if progress.wantsCheckpoint(tuning) {
                makeCheckpoint(progress)
            }
            if progress.wantsRound(tuning) {
                plan(progress, isForced: false)
            }
        }
    }

    private func makeCheckpoint(_ progress: WriterLoop.Progress) {
        do {
            try connection.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
            loop.statistics.checkpoints.add()
        } catch {
            guard error.isBusy || error.isFull else {
                return loop.fail("A checkpoint of the database has failed: \(error.text).")
            }
            // In the end, the writer notices what prevents checkpoints.
            loop.log(false, "checkpoint-failed", [("reason", error.text)])
        }
        loop.progress.write { $0.checkpointedCount = progress.frameCount }
    }

    // MARK: Compaction

    private func plan(_ progress: WriterLoop.Progress, isForced: Bool) {
        do {
            let oldest = progress.dropsHistory ? .max : loop.callbacks.historyOldest()
            let bound = min(oldest, progress.durableRevision)
            var plan = RoundPlan(after: progress.storedRow)
            let forced = meta[.roundRow]
            try plan.read(
                connection,
                through: bound,
                atLeast: forced,
                byteCountMax: progress.lowRoundByteCount,
                loop.tuning
            )
            let isWorthIt = isForced || progress.isLow || isWorthIt(plan, progress)
            guard let round = plan.round, isWorthIt else {
                // Later, when more changes have left the history.
                let step = max(1, progress.threshold(loop.tuning) / 4)
                return loop.progress.write {
                    $0.planRow = progress.lastRow + step
                    $0.planByteCount = progress.changeByteCount + loop.tuning.roundByteCountMin / 4
                    if $0.dropsHistory == progress.dropsHistory {
                        $0.planLowRow = progress.lastRow + Self.lowStep
                    }
                }
            }
            loop.progress.write { $0.plannedRow = round.lastRow }
            loop.inbox.write { $0.round = round }
        } catch {
            loop.log(true, "compaction-failed", [("reason", error.text)])
            loop.progress.write {
                $0.planRow = progress.lastRow + loop.tuning.roundCountMin
                $0.planByteCount = progress.changeByteCount + loop.tuning.roundByteCountMin
                $0.planLowRow = progress.lastRow + Self.lowStep
            }
        }
    }

    private func isWorthIt(_ plan: RoundPlan, _ progress: WriterLoop.Progress) -> Bool {
        let rows = plan.lastRow - progress.storedRow
        return rows >= min(progress.threshold(loop.tuning), Int64(loop.tuning.roundCountMax))
            || progress.hasManyBytes(loop.tuning)
                && rows >= (progress.lastRow - progress.storedRow) / 2
    }
}

extension WriterLoop.Progress {
    var isLow: Bool { lowRoundByteCount != nil }

    func wantsCheckpoint(_ tuning: Tuning) -> Bool {
        frameCount - checkpointedCount >= tuning.checkpointFrameCount
    }

    func wantsRound(_ tuning: Tuning) -> Bool {
        compaction == nil && storedRow >= plannedRow
            && (isLow && lastRow > storedRow && lastRow >= planLowRow
                || lastRow >= planRow && lastRow - storedRow >= threshold(tuning)
                || changeByteCount >= planByteCount && hasManyBytes(tuning))
    }

    /// The number of rows that makes a round.
    func threshold(_ tuning: Tuning) -> Int64 { max(tuning.roundCountMin, storedCount / 4) }

    func hasManyBytes(_ tuning: Tuning) -> Bool {
        changeByteCount >= tuning.roundByteCountMin && lastRow > storedRow
    }
}
