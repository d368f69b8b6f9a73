internal import CSQLite
internal import Glibc
internal import LatchkeyStore

/// The result of the compaction of a data folder.
package struct CompactionReport: Sendable {
    /// The bytes of the database and its log before.
    package var formerByteCount = 0
    package var byteCount = 0
    /// The reason why the file of the database did not get shorter; nil if it did.
    package var failure: PersistenceFailure?
}

extension Persistence {
    /// Makes a data folder as small as possible, while no process uses it.
    ///
    /// All changes are copied into the table of the properties, without a history, and the file of
    /// the database is replaced by a copy without free pages. If there is no room for the copy, the
    /// file keeps its length, and later changes use its free pages first.
    ///
    /// **Order.** The copy is complete, checked, and on the disk before it replaces the database,
    /// whose log is empty by then: each of the two files is the whole state. So a process that is
    /// killed leaves a folder that can be used.
    ///
    /// - Throws: If the files are not ours, are damaged, or cannot be written.
    package static func compact(_ path: String) throws(PersistenceFailure) -> CompactionReport {
        try compact(path, Tuning())
    }

    static func compact(
        _ path: String,
        _ tuning: Tuning
    ) throws(PersistenceFailure) -> CompactionReport {
        let folder = try Folder(path, mayCreate: false)
        guard hasWholeData(path) else { throw folder.missing }
        let copy = path + "/" + DiskRoom.compactedName
        var report = CompactionReport()
        report.formerByteCount = byteCount(of: folder)
        report.failure = try copyCompacted(folder, copy, tuning)
        if report.failure == nil {
            do throws(PersistenceFailure) {
                try replace(folder, by: copy)
            } catch {
                Copy.remove(copy)
                throw error
            }
        }
        report.byteCount = byteCount(of: folder)
        return report
    }

    private static func byteCount(of folder: Folder) -> Int {
        (Folder.byteCount(folder.database) ?? 0) + (Folder.byteCount(folder.log) ?? 0)
    }

    /// Puts the copy in the place of the database, with its owner and its permissions.
    private static func replace(
        _ folder: Folder,
        by copy: String
    ) throws(PersistenceFailure) {
        // A program that has the database open would go on with the log of the copy.
        guard
            ["-wal", "-shm"].allSatisfy({ Folder.byteCount(folder.database + $0) == nil })
        else {
            throw PersistenceFailure(
                .inUse,
                "Another program has '\(folder.database)' open. End it, and try again."
            )
        }
        try Copy.adopt(folder.database, copy)
        try Copy.sync(copy)
        guard unsafe rename(copy, folder.database) == 0 else { throw .call("rename", copy) }
        try Folder.sync(folder.path)
    }

    /// Returns the reason for no copy; nil if there is one, and the database can be replaced.
    private static func copyCompacted(
        _ folder: Folder,
        _ copy: String,
        _ tuning: Tuning
    ) throws(PersistenceFailure) -> PersistenceFailure? {
        let room = try DiskRoom(folder, tuning)
        room.giveUp()
        let database = try OpenedDatabase(
            folder,
            startRevision: 0,
            isShownEarly: true,
            vfs: tuning.vfs
        )
        let connection = database.connection
        do {
            let writer = try BatchWriter(database, tuning)
            if database.hasTornLog { try writer.beginNewLog(SQLITE_CHECKPOINT_TRUNCATE) }
            try bringForward(writer, room, tuning)
            try folder.notes.bound(0)
            try writer.beginNewLog(SQLITE_CHECKPOINT_TRUNCATE)
            connection.keepLog(false)
            try folder.notes.settle()
            _ = try Copy.replace(copy, connection)
            return nil
        } catch {
            let failure = Self.failure(error, folder)
            guard failure.isFull else { throw failure }
            // The log can be as long as the disk had free space.
            _ = try? connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
            return failure
        }
    }

    private static func failure(_ error: any Error, _ folder: Folder) -> PersistenceFailure {
        switch error {
        case let failure as PersistenceFailure: return failure
        case let error as DatabaseError: return PersistenceFailure(error, folder.database)
        default:
            let failure = error as? BatchFailure
            let isFull = if case .held(.full) = failure?.consequence { true } else { false }
            let message = failure?.message ?? "\(error)"
            return PersistenceFailure(.inputOutput, message, cause: isFull ? ENOSPC : 0)
        }
    }

    private static func bringForward(
        _ writer: BatchWriter,
        _ room: DiskRoom,
        _ tuning: Tuning
    ) throws {
        var extra = BatchWriter.Extra(compacts: true, sliceCount: BatchWriter.sliceCountMax)
        // The answers of idempotency keys stay.
        extra.noteTime = Timestamp(milliseconds: .min)
        while true {
            var plan = RoundPlan(after: writer.meta[.storedRow])
            try plan.read(
                writer.connection,
                through: writer.lastRevision,
                atLeast: writer.meta[.roundRow],
                byteCountMax: room.needsLog ? room.batchByteCount / 2 : nil,
                tuning
            )
            writer.round = plan.round
            guard writer.hasCompaction else { return }
            while writer.hasCompaction {
                _ = try writer.write([], extra)
                if writer.frames.byteCount >= room.batchByteCount {
                    try writer.beginNewLog(SQLITE_CHECKPOINT_TRUNCATE)
                }
            }
        }
    }
}
