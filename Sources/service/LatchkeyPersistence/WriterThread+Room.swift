internal import CSQLite
internal import LatchkeyMetrics
internal import LatchkeySync

/// The thread's work to keep room on the disk.
///
/// **Design.** All of it runs on the writing thread.
extension WriterThread {
    private static let shortenInterval = Duration.milliseconds(20)

    /// Measures the room, and decides whether changes that need some are accepted.
    ///
    /// The log gives back unused space before the disk counts as low.
    func lookAtRoom() {
        guard mode == .normal, !loop.isLost else { return }
        nextLook = .now + loop.tuning.tryInterval
        do {
            var spared = try measure()
            if room.isLow || room.needsLog, try shortenLog() {
                spared = try measure()
            }
            room.settle(sparedByteCount: spared)
            loop.accept(room.isLow)
            noteRoom(spared)
        } catch {
            return fail(.of(error, writer.path))
        }
    }

    /// Lets everything be compacted while the disk is low: at last also the history that the next
    /// start would have, if that can make room.
    private func noteRoom(_ sparedByteCount: Int) {
        let (isLow, byteCount) = (room.isLow, room.batchByteCount / 2)
        let (former, now) = loop.progress.write { progress in
            let former = progress
            let isEnough = room.hasRoom(sparedByteCount: sparedByteCount + progress.changeByteCount)
            let helps = progress.planLowRow > 0 && isEnough
            progress.lowRoundByteCount = isLow ? byteCount : nil
            progress.dropsHistory = isLow && (helps || progress.dropsHistory)
            if !isLow || progress.dropsHistory != former.dropsHistory { progress.planLowRow = 0 }
            return (former, progress)
        }
        if now.isLow != former.isLow {
            let free = (room.space?.freeByteCount ?? 0) / 1_000_000
            var fields = [("free", "\(free) MB")]
            let advice = "make room on the disk: until then only changes that remove are taken"
            if isLow { fields.append(("advice", advice)) }
            loop.log(isLow, isLow ? "disk-low" : "disk-has-room", fields)
        }
        if now.dropsHistory, !former.dropsHistory {
            let consequence = "a restart has a shorter history"
            loop.log(false, "history-is-dropped", [("consequence", consequence)])
        }
    }

    /// The time to look even if nothing is written; nil if there is much room.
    var lookIsDue: ContinuousClock.Instant? { room.isTight || room.isLow ? nextLook : nil }

    /// Returns the free bytes within the database.
    private func measure() throws(DatabaseError) -> Int {
        guard room.isTightNow() else { return 0 }
        let pageCount = try writer.connection.integer("pragma page_count") ?? 0
        let spareCount = try writer.connection.integer("pragma freelist_count") ?? 0
        let byteCount = Folder.byteCount(writer.path) ?? 0
        room.owe(Int(pageCount) * Schema.pageByteCount - byteCount)
        return Int(spareCount) * Schema.pageByteCount
    }

    /// Copies a long log into the database, and makes its file empty; false if it is short, or that
    /// cannot be done now.
    private func shortenLog() throws(DatabaseError) -> Bool {
        let byteCount = Folder.byteCount(writer.folder.log) ?? 0
        guard byteCount >= room.logByteCount, ContinuousClock.now >= shortensAfter else {
            return false
        }
        do throws(DatabaseError) {
            try writer.beginNewLog(SQLITE_CHECKPOINT_TRUNCATE)
        } catch {
            guard error.isBusy || error.isFull else { throw error }
            // The other thread makes a checkpoint, or a program reads. Compaction would make the
            // log longer meanwhile.
            shortensAfter = .now + Self.shortenInterval
            compactsAfter = max(compactsAfter, shortensAfter)
            nextLook = shortensAfter
            return false
        }
        loop.statistics.checkpoints.add()
        return true
    }
}
