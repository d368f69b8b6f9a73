internal import Dispatch
internal import LatchkeyGuards
package import LatchkeyStore
internal import LatchkeyStrategies

/// The leader's properties in the store of a replica, as its follower changes them.
///
/// **Design.** One thread calls all of it, one call after the other, and nothing else changes the
/// store. Each call blocks until readers see the change.
package struct LeaderCopy: Sendable {
    private let journal: Journal
    private let limits: StoreLimits
    private let store: PropertyStore

    /// - Parameters:
    ///   - store: The store.
    ///   - journal: The journal of the store.
    ///   - limits: The limits that no state of the leader may exceed.
    package init(_ store: PropertyStore, _ journal: Journal, _ limits: StoreLimits) {
        self.store = store
        self.journal = journal
        self.limits = limits
    }

    /// The outcome of a commit.
    enum Outcome: Equatable {
        case applied
        /// Nothing is done: the commit does not fit what is there.
        case misfit
        /// Nothing is done: a limit would be exceeded, with the message.
        case beyondBounds(String)
    }

    /// Makes the changes of the leader's next commit.
    func apply(_ stored: StoredCommit) -> Outcome {
        guard stored.revision == journal.last + 1 else { return .misfit }
        let usage = store.usage
        var (propertyCount, byteCount) = (usage.propertyCount, usage.byteCount)
        var effects: [Commit.Effect] = []
        for effect in stored.effects {
            let former = Self.insist { answer throws(BacklogFull) in
                try store.look(effect.name, in: .stored, .here(), completion: answer)
            }
            let made = Commit.Effect(from: former, to: effect.property, effect.reason)
            guard let made else { return .misfit }
            effects.append(made)
            propertyCount += (effect.property == nil ? 0 : 1) - (former == nil ? 0 : 1)
            byteCount += (effect.property?.byteCount ?? 0) - (former?.byteCount ?? 0)
            if let reason = limits.failure(0, 0, effect.property) { return .beyondBounds(reason) }
        }
        guard !effects.isEmpty else { return .misfit }
        if let reason = limits.failure(propertyCount, byteCount, nil) {
            return .beyondBounds(reason)
        }
        let commit = Commit(
            revision: stored.revision,
            time: stored.time,
            first: effects[0],
            others: Array(effects.dropFirst())
        )
        Self.insist { answer throws(BacklogFull) in
            try store.apply(commit, .here()) { answer(()) }
        }
        journal.append(commit)
        return .applied
    }

    /// Takes the leader's whole state, of a later revision than that of the store, or the same.
    package func replace(with properties: [Property], at revision: Revision) {
        Self.insist { answer in
            store.replace(with: properties, at: revision) { answer(()) }
        }
        journal.restart(after: revision)
    }

    /// Lets the next commit follow a later revision, and forgets the history.
    func jump(to revision: Revision) {
        Self.insist { answer in store.jump(to: revision) { answer(()) } }
        journal.restart(after: revision)
    }

    /// The revision of the last commit, or of the last whole state.
    var revision: Revision { journal.last }

    /// Calls the store until its strategy takes the call, and waits for the answer.
    private static func insist<Answer: Sendable>(
        _ call: (@escaping @Sendable (Answer) -> Void) throws(BacklogFull) -> Void
    ) -> Answer {
        let answer = Guarded<Answer?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        while true {
            do throws(BacklogFull) {
                try call { value in
                    answer.write { $0 = value }
                    isDone.signal()
                }
                isDone.wait()
                if let answer = answer.read({ $0 }) { return answer }
                preconditionFailure("The store has answered.")
            } catch {
                // Only reads can fill the backlog: no other thread makes changes.
                _ = isDone.wait(timeout: .now() + .milliseconds(1))
            }
        }
    }
}
