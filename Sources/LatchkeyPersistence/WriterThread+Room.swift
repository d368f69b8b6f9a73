internal import CSQLite
internal import LatchkeyMetrics
internal import LatchkeySync

/// How the thread keeps room on the disk.
///
/// **Design.** All of it runs on the writing thread.
extension WriterThread {
    /// Looks how much room there is, and says whether changes that need some are accepted.
    ///
    /// The log gives back what it does not need before the disk counts as low.
    func lookAtRoom() {
        guard mode == .normal, !loop.isLost else { return }
        nextLook = .now + loop.tuning.tryInterval
        do {
            var spared = try measure()
            if room.needsLog, writer.frames.count >= shortenFrameCount, try shortenLog() {
                spared = try measure()
            }
            room.settle(sparedByteCount: spared)
            loop.accept(room.isLow)
            noteRoom(spared)
        } catch {
            return fail(.of(error, writer.path))
        }
    }

    /// Has all compacted while the disk is low: also the history that the next start would have,
    /// where that makes room.
    private func noteRoom(_ sparedByteCount: Int) {
        let (isLow, byteCount) = (room.isLow, room.batchByteCount / 2)
        let (former, now) = loop.progress.write { progress in
            let former = progress
            let isEnough = room.hasRoom(sparedByteCount: sparedByteCount + progress.changeByteCount)
            progress.lowRoundByteCount = isLow ? byteCount : nil
            progress.dropsHistory = isLow && (isEnough || progress.dropsHistory)
            if progress.dropsHistory != former.dropsHistory { progress.planLowRow = 0 }
            return (former, progress)
        }
        if now.isLow != former.isLow {
            let free = (room.space?.freeByteCount ?? 0) / 1_000_000
            loop.log(isLow, isLow ? "disk-low" : "disk-has-room", [("free", "\(free) MB")])
        }
        if now.dropsHistory, !former.dropsHistory {
            let consequence = "a restart has a shorter history"
            loop.log(false, "history-is-dropped", [("consequence", consequence)])
        }
    }

    /// When to look although nothing is written; nil where there is much room.
    var lookIsDue: ContinuousClock.Instant? { room.isTight ? nextLook : nil }

    /// Returns what is free within the database.
    private func measure() throws(DatabaseError) -> Int {
        room.measure()
        guard room.isTight else { return 0 }
        let pageCount = try writer.connection.integer("pragma page_count") ?? 0
        let spareCount = try writer.connection.integer("pragma freelist_count") ?? 0
        let byteCount = Folder.byteCount(writer.path) ?? 0
        room.owe(Int(pageCount) * Schema.pageByteCount - byteCount)
        return Int(spareCount) * Schema.pageByteCount
    }

    /// Copies the log into the database, and makes it empty; false if that cannot be done now.
    private func shortenLog() throws(DatabaseError) -> Bool {
        do throws(DatabaseError) {
            try writer.beginNewLog(SQLITE_CHECKPOINT_TRUNCATE)
        } catch {
            guard error.isBusy || error.isFull else { throw error }
            shortenFrameCount = writer.frames.count + room.logFrameCount
            return false
        }
        shortenFrameCount = room.logFrameCount
        loop.statistics.checkpoints.add()
        return true
    }
}
