internal import LatchkeyStore

// The writer's work on the log of the database.

extension BatchWriter {
    /// Notes the log that another program has begun without a loss, for the next start.
    ///
    /// The open transaction keeps other programs from that meanwhile.
    func noteForeignLog() throws {
        let last = try connection.integer("select max(row) from changes")
        guard last ?? meta[.storedRow] == lastRow else { return }
        try folder.syncLog()
        try notes.restart(LogScan(folder.log))
    }

    /// The time to note the frames of the log again; nil if all of them are noted.
    var noteIsDue: ContinuousClock.Instant? { notes.lacks(frames.count) ? nextNote : nil }

    /// Notes how many frames of the log are on the disk: after the first transaction of a log, and
    /// then at times, or after many frames.
    ///
    /// - Returns: The failure, if there is one. It is tried again: the valid log is noted in any
    ///   case.
    func noteFrames() -> PersistenceFailure? {
        guard notes.lacks(frames.count) else { return nil }
        let isFirst = notes.isUncounted
        guard
            isFirst || ContinuousClock.now >= nextNote
                || frames.count - notes.frameCount >= noteFrameCount
        else { return nil }
        if !isFirst { nextNote = .now + noteInterval }
        do throws(PersistenceFailure) {
            try notes.count(frames.count)
            return nil
        } catch {
            return error
        }
    }

    /// Copies the log into the database and begins a new one.
    func beginNewLog(_ mode: Int32) throws(DatabaseError) {
        do throws(DatabaseError) {
            try connection.checkpoint(mode)
        } catch {
            doubtVersion(after: error)
            throw error
        }
        frames.count = 0
    }
}
