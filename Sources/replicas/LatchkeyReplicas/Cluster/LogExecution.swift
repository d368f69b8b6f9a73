internal import Dispatch
internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyPersistence
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The execution of the log on a replica's store, its history, and its files.
///
/// **Design.** One thread makes all changes of the state, one after the other. `keys` is guarded
/// because a strategy asks for the note on a thread of its own; it does not change meanwhile.
final class LogExecution: ReplicatedState {
    private let store: PropertyStore
    private let journal: Journal
    private let persistence: Persistence
    private let state: ClusterState
    /// Nil if `Idempotency-Key` is switched off.
    private let keys: Guarded<IdentityTable?>
    private let decision = Guarded<Decision?>(nil)
    private let isDecided = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "latchkey.cluster.hash", qos: .utility)

    init(
        _ store: PropertyStore,
        _ journal: Journal,
        _ persistence: Persistence,
        _ state: ClusterState,
        _ keys: IdentityTable?
    ) {
        self.store = store
        self.journal = journal
        self.persistence = persistence
        self.state = state
        self.keys = Guarded(keys)
    }

    /// Takes the decision of the change that is executed.
    private struct Receiver: DecisionReceiver {
        let executing: LogExecution
        let proposal: LogEntry.Proposal
        let time: Timestamp

        func receive(_ decision: Decision) {
            executing.decision.write { $0 = decision }
            executing.isDecided.signal()
        }

        func note(for commit: Commit) -> CommitNote? {
            CommitNote(
                author: proposal.author.isEmpty ? nil : proposal.author,
                bytes: executing.keys.read {
                    $0?.note(for: commit, of: proposal.identity, proposal.change, at: time)
                }
            )
        }
    }

    func decide(by rules: RuleLevel) { store.rules = rules }

    func execute(_ proposal: LogEntry.Proposal, at time: Timestamp) -> Decision {
        if let identity = proposal.identity,
            let decision = keys.write({ $0?.decision(of: identity, proposal.change, at: time) })
        {
            return decision
        }
        let receiver = Receiver(executing: self, proposal: proposal, time: time)
        while true {
            do throws(BacklogFull) {
                try store.execute(proposal.change, at: time, .here(), receiver: receiver)
                break
            } catch {
                // Only reads can fill the backlog: one change runs at a time.
                _ = isDecided.wait(timeout: .now() + .milliseconds(1))
            }
        }
        isDecided.wait()
        guard let decision = decision.write({ $0.take() }) else {
            preconditionFailure("A change is decided once.")
        }
        keys.write { $0?.keep(decision, of: proposal.identity, proposal.change, at: time) }
        return decision
    }

    func reaches(_ position: LogPosition) {
        var position = position
        position.unstoredKeys = keys.write { keys in
            keys?.expire(at: position.time)
            return keys?.unstored ?? []
        }
        state.disks.waiting {
            persistence.seal(through: position.revision, position.encoded)
        }
        state.age.reaches(position.revision)
    }

    func jump(to revision: Revision) {
        store.jump(to: revision) { [isDecided] in isDecided.signal() }
        isDecided.wait()
        journal.restart(after: revision)
        state.disks.waiting { persistence.skip(through: revision) }
    }

    var revision: Revision { store.usage.revision }

    func hash(completion: @escaping @Sendable (UInt64) -> Void) {
        let keys = keys.read { $0?.digest ?? 0 }
        // The next change waits for the snapshot, and not for the hash.
        store.snapshot(.here()) { [queue, isDecided] snapshot in
            queue.async { completion(snapshot.digest &+ keys) }
            isDecided.signal()
        }
        isDecided.wait()
    }
}
