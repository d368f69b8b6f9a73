internal import CSQLite
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeySync

/// What the third thread does: checkpoints, and the plans of compaction.
///
/// **Design.** It has a connection of its own and writes no row. Each reading is short, because a
/// log cannot begin anew while somebody reads it.
///
/// SAFETY: `@unchecked Sendable` because only the thread that calls ``run()`` uses it.
final class Maintenance: @unchecked Sendable {
    private static let idleInterval = Duration.seconds(1)

    private let loop: WriterLoop
    private let connection: Connection

    init(_ loop: WriterLoop, _ connection: Connection) {
        self.loop = loop
        self.connection = connection
    }

    func run() {
        // A round that a former process did not end is made first.
        if loop.database.meta[.roundRow] > loop.database.meta[.storedRow] {
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
            // The writer notices what prevents checkpoints in the end.
            loop.log(false, "checkpoint-failed", [("reason", error.text)])
        }
        loop.progress.write { $0.checkpointedCount = progress.frameCount }
    }

    // MARK: Compaction

    private func plan(_ progress: WriterLoop.Progress, isForced: Bool) {
        do {
            let bound = min(loop.callbacks.historyOldest(), progress.durableRevision)
            var plan = RoundPlan(after: progress.storedRow)
            let forced = loop.database.meta[.roundRow]
            try plan.read(connection, through: bound, atLeast: forced, loop.tuning)
            guard let round = plan.round, isForced || isWorthIt(plan, progress) else {
                // Later, when more is behind the history.
                let step = max(1, progress.threshold(loop.tuning) / 4)
                return loop.progress.write { $0.planRow = progress.lastRow + step }
            }
            loop.progress.write { $0.plannedRow = round.lastRow }
            loop.inbox.write { $0.round = round }
        } catch {
            loop.log(true, "compaction-failed", [("reason", error.text)])
            loop.progress.write { $0.planRow = progress.lastRow + loop.tuning.roundCountMin }
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
    func wantsCheckpoint(_ tuning: Tuning) -> Bool {
        frameCount - checkpointedCount >= tuning.checkpointFrameCount
    }

    func wantsRound(_ tuning: Tuning) -> Bool {
        compaction == nil && storedRow >= plannedRow && lastRow >= planRow
            && (lastRow - storedRow >= threshold(tuning) || hasManyBytes(tuning))
    }

    /// So many rows make a round.
    func threshold(_ tuning: Tuning) -> Int64 { max(tuning.roundCountMin, storedCount / 4) }

    func hasManyBytes(_ tuning: Tuning) -> Bool {
        changeByteCount >= tuning.roundByteCountMin && lastRow > storedRow
    }
}

/// The latest rows of all names in a part of the table `changes`.
struct RoundPlan {
    private struct Entry {
        let row: Int64
        let start: Int
        let count: Int
    }

    private(set) var lastRow: Int64
    private var revision: Revision = 0
    private var time = Int64.min
    private var names: [UInt8] = []
    private var entries: [Entry] = []

    init(after row: Int64) {
        lastRow = row
    }

    /// Reads commits up to a revision, but all up to the row `atLeast`.
    mutating func read(
        _ connection: Connection,
        through bound: Revision,
        atLeast: Int64,
        _ tuning: Tuning
    ) throws(DatabaseError) {
        let rows = try Statement(
            connection,
            "select row, revision, more, time, name from changes where row > ? order by row "
                + "limit 20000"
        )
        var uncommitted: [Entry] = []
        var last = lastRow
        while true {
            defer { rows.reset() }
            try rows.bind(1, last)
            var count = 0
            while try rows.step() {
                count += 1
                last = rows.integer(0)
                let found = Revision(bitPattern: rows.integer(1))
                let isFull =
                    entries.count >= tuning.roundCountMax
                    || names.count >= tuning.roundNameByteCountMax
                if last > atLeast, found > bound || isFull {
                    return
                }
                let name = unsafe rows.bytes(4)
                uncommitted.append(Entry(row: last, start: names.count, count: name.count))
                unsafe names.append(contentsOf: name)
                time = max(time, rows.integer(3))
                if rows.integer(2) == 0 {
                    entries += uncommitted
                    uncommitted.removeAll(keepingCapacity: true)
                    lastRow = last
                    revision = found
                }
            }
            if count < 20_000 {
                return
            }
        }
    }

    /// The round, or nil if there are no rows.
    var round: CompactionRound? {
        guard !entries.isEmpty else {
            return nil
        }
        let latest = unsafe names.withBytes { names -> [Int64] in
            func name(_ entry: Entry) -> UnsafeRawBufferPointer {
                unsafe UnsafeRawBufferPointer(
                    rebasing: names[entry.start..<entry.start + entry.count]
                )
            }
            let sorted = entries.sorted { one, other in
                unsafe name(one).order(name(other)) ?? (one.row < other.row)
            }
            return sorted.indices.filter { index in
                index + 1 == sorted.count
                    || (unsafe name(sorted[index]).order(name(sorted[index + 1]))) != nil
            }.map { sorted[$0].row }
        }
        return CompactionRound(
            rows: latest,
            lastRow: lastRow,
            revision: revision,
            time: Timestamp(milliseconds: time)
        )
    }
}
