internal import LatchkeyStore

// What the writer does with the log of the database.

extension BatchWriter {
    /// Notes the log that another program has begun without a loss, for the next start.
    ///
    /// The transaction that is open keeps others from that meanwhile.
    func noteForeignLog() throws {
        let last = try connection.integer("select max(row) from changes")
        guard last ?? meta[.storedRow] == lastRow else { return }
        try folder.syncLog()
        try notes.restart(LogScan(folder.log))
    }

    /// When the frames of the log are to be noted again; nil if all of them are.
    var noteIsDue: ContinuousClock.Instant? { notes.lacks(frames.count) ? nextNote : nil }

    /// Notes how many frames of the log are on the disk: behind the first transaction of a log, and
    /// then at times, or behind many.
    ///
    /// - Returns: Why that failed. It is tried again: the log that counts is noted in any case.
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
