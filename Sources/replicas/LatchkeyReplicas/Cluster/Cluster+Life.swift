internal import LatchkeyFrame
internal import LatchkeyPersistence
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

// Whether a replica that began with an empty folder begins a new life of the log.

extension Cluster {
    /// Begins a new life of the log, for data that were made from its first entry: if the log was
    /// restored from a backup, clients can know revisions of lost entries.
    ///
    /// Begins none if another replica continues the log (``LifeWatch``).
    func beginLife(_ started: Started) throws(StartFailure) {
        let (note, replica) = (LifeNote(folder: folder), started.replica)
        guard note.isThere else { return }
        // Before the rules are raised, replicas of 0.1 would not execute it.
        if replica.position.rules >= .second {
            if try isAlone(started) {
                try appendLife(started)
            } else {
                log.write(.info, "no new life: other replicas go on")
            }
        }
        note.remove()
        state.awaitsLife(false)
        exchangeRecords(started)
    }

    /// Whether no other replica goes on with the log.
    private func isAlone(_ started: Started) throws(StartFailure) -> Bool {
        var watch = LifeWatch(started.persistence.identity, at: StateAge.now())
        while true {
            // All that the others had is before the end of the log.
            if let records = try records(started), try isAnswered(started, whenLevel) {
                switch watch.hears(records, started.replica.position, at: StateAge.now()) {
                case .goesOn: return false
                case .begins: return true
                case .waits: break
                }
            }
            try pause(seconds: 0.2)
        }
    }

    /// The records of all replicas; nil without an answer, for the reason in `state`.
    private func records(
        _ started: Started
    ) throws(StartFailure) -> [String: ClusterDirectory.Record]? {
        let found = Guarded<[String: ClusterDirectory.Record]?>(nil)
        _ = try isAnswered(started) { answer in
            directory.records { result in
                found.write { $0 = try? result.get() }
                answer(true)
            }
        }
        return found.read { $0 }
    }

    private func appendLife(_ started: Started) throws(StartFailure) {
        let replica = started.replica
        while true {
            let now = StoreClock.system.now()
            let revision = Revision.laterLife(of: replica.position.revision, at: now)
            guard let revision else { throw StartFailure(reason: "The revisions are used up.") }
            let isBegun = try isAnswered(started) {
                replica.beginLife(behind: revision, completion: $0)
            }
            if isBegun { return log.write(.info, "new life", ["behind": "\(revision)"]) }
            try pause(seconds: 0.2)
        }
    }

    /// Waits for an answer, and throws if the replica stops meanwhile.
    private func isAnswered(
        _ started: Started,
        _ question: (@escaping @Sendable (Bool) -> Void) -> Void
    ) throws(StartFailure) -> Bool {
        let answer = Guarded<Bool?>(nil)
        question { isTrue in answer.write { $0 = isTrue } }
        while true {
            try endIfStopped(started)
            if let isTrue = answer.read({ $0 }) { return isTrue }
            try pause(seconds: 0.01)
        }
    }
}
