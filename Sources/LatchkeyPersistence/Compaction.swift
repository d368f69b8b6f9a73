internal import CSQLite
internal import Glibc
internal import LatchkeyStore

/// What the compaction of a data folder has done.
package struct CompactionReport: Sendable {
    /// The bytes of the database and its log before.
    package var formerByteCount = 0
    package var byteCount = 0
    /// Why the file of the database was not made shorter; nil if it was.
    package var failure: PersistenceFailure?
}

extension Persistence {
    private static let compactedName = "compacted.db"

    /// Makes a data folder as small as it can be, while no process uses it.
    ///
    /// All changes are brought into the table of the properties, without a history, and the file of
    /// the database is replaced by a copy without free pages. Where there is no room for the copy,
    /// the file stays as long as it is, and later changes use its free pages first.
    ///
    /// **Order.** The copy is whole, checked, and on the disk before it takes the place of the
    /// database, whose log is empty by then: each of the two files is the whole state. So a process
    /// that is killed leaves a folder that can be used.
    ///
    /// - Throws: Where the files are not ours, are damaged, or cannot be written.
    package static func compact(_ path: String) throws(PersistenceFailure) -> CompactionReport {
        try compact(path, Tuning())
    }

    static func compact(
        _ path: String,
        _ tuning: Tuning
    ) throws(PersistenceFailure) -> CompactionReport {
        let folder = try Folder(path, mayCreate: false)
        guard hasData(path) else { throw folder.missing }
        let copy = path + "/" + compactedName
        Copy.remove(copy)
        var report = CompactionReport()
        report.formerByteCount = byteCount(of: folder)
        report.failure = try copyCompacted(folder, copy, tuning)
        if report.failure == nil {
            guard unsafe rename(copy, folder.database) == 0 else {
                throw .call("rename", copy)
            }
            try Folder.sync(path)
        }
        report.byteCount = byteCount(of: folder)
        return report
    }

    private static func byteCount(of folder: Folder) -> Int {
        (Folder.byteCount(folder.database) ?? 0) + (Folder.byteCount(folder.log) ?? 0)
    }

    /// Returns why there is no copy; nil if there is one, and the database can be replaced.
    private static func copyCompacted(
        _ folder: Folder,
        _ copy: String,
        _ tuning: Tuning
    ) throws(PersistenceFailure) -> PersistenceFailure? {
        try DiskRoom(folder, tuning).giveUp()
        let database = try OpenedDatabase(
            folder,
            startRevision: 0,
            isShownEarly: true,
            vfs: tuning.vfs
        )
        let connection = database.connection
        do {
            let writer = try BatchWriter(database, tuning)
            try bringForward(writer, tuning)
            try folder.notes.bound(0)
            try writer.beginNewLog(SQLITE_CHECKPOINT_TRUNCATE)
            connection.keepLog(false)
            try folder.notes.settle()
        } catch let failure as PersistenceFailure {
            throw failure
        } catch let error as DatabaseError {
            throw PersistenceFailure(error, folder.database)
        } catch {
            throw PersistenceFailure(.inputOutput, "\((error as? BatchFailure)?.message ?? "")")
        }
        do throws(PersistenceFailure) {
            _ = try Copy.replace(copy, connection)
            try Copy.sync(copy)
            return nil
        } catch {
            Copy.remove(copy)
            guard error.isFull else { throw error }
            return error
        }
    }

    private static func bringForward(_ writer: BatchWriter, _ tuning: Tuning) throws {
        var extra = BatchWriter.Extra(compacts: true, sliceCount: BatchWriter.sliceCountMax)
        // The answers of idempotency keys stay.
        extra.noteTime = Timestamp(milliseconds: .min)
        while true {
            var plan = RoundPlan(after: writer.meta[.storedRow])
            let begun = writer.meta[.roundRow]
            try plan.read(writer.connection, through: writer.lastRevision, atLeast: begun, tuning)
            writer.round = plan.round
            guard writer.hasCompaction else { return }
            while writer.hasCompaction {
                _ = try writer.write([], extra)
            }
        }
    }
}
