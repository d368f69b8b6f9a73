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

    /// Notes how many frames of the log are on the disk: behind the first transaction of a log, and
    /// then at times.
    ///
    /// - Returns: Why that failed. It is tried again: the log that counts is noted in any case.
    func noteFrames() -> PersistenceFailure? {
        guard ContinuousClock.now >= nextNote || notes.isUncounted else { return nil }
        nextNote = .now + noteInterval
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
