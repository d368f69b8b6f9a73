internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The key of a request that runs: finds the decision of an earlier request with it, and keeps the
/// one that is made.
final class RequestKey: AnswerWitness {
    /// What the request is known by.
    let identity: RequestIdentity
    private let owner: KeyOwner
    private let repetition: Repetition
    private let repeats = Guarded(false)

    init(_ identity: RequestIdentity, _ owner: KeyOwner, _ repetition: Repetition) {
        (self.identity, self.owner, self.repetition) = (identity, owner, repetition)
    }

    /// Whether the answer is that to an earlier request.
    var isRepeat: Bool { repeats.read { $0 } }

    func noteRepeat() { repeats.write { $0 = true } }

    func refused() { repeats.write { $0 = false } }

    /// The decision of an earlier request; nil if the change is to be decided.
    func decision(of change: Change) -> Decision? {
        repetition.keys.decision(of: identity, change)
    }

    func keep(_ decision: Decision, of change: Change) {
        repetition.keys.keep(decision, of: identity, change)
    }

    /// What was kept of an earlier request; nil if there is none.
    var kept: IdentityTable.Entry? { repetition.keys.entry(identity.key) }

    func keep(_ answer: KeptDecision) { repetition.keys.keep(answer, of: identity) }

    /// What is to be stored with a commit, so that a repeat after a restart gets its decision.
    func note(for commit: Commit, of change: Change) -> [UInt8] {
        let decision = Decision.success(commit)
        let isShort = decision.shownByteCount(of: change) <= IdentityTable.answerByteCountMax
        let answer = isShort ? KeptDecision(decision, of: change) : nil
        return IdentityRecord(
            identity: identity,
            time: commit.time,
            answer: answer.flatMap {
                $0.bytes.count <= IdentityTable.answerByteCountMax ? $0 : nil
            },
            owner: owner
        ).note
    }

    /// Says that the request waits: a repeat that waits less long ends it.
    func begins(_ end: @escaping Repetition.EndWait) {
        repetition.keys.setWait(end, of: identity.key)
    }

    func endsWait() {
        repetition.keys.setWait(nil, of: identity.key)
    }

    func answered() {
        if isRepeat { repetition.replays.add() }
        repetition.finish(identity.key)
    }
}

/// Keeps the decision of a change before its answer is made.
struct Keeping<Receiver: DecisionReceiver>: DecisionReceiver {
    private let receiver: Receiver
    private let change: Change
    private let key: RequestKey

    init(_ receiver: Receiver, _ change: Change, _ key: RequestKey) {
        (self.receiver, self.change, self.key) = (receiver, change, key)
    }

    func receive(_ decision: Decision) {
        key.keep(decision, of: change)
        receiver.receive(decision)
    }

    var author: [UInt8]? { receiver.author }

    var identity: RequestIdentity? { key.identity }

    func note(for commit: Commit) -> CommitNote? {
        CommitNote(author: author, bytes: key.note(for: commit, of: change))
    }
}

extension ServiceRequest {
    /// Nil unless repeats of the request get its answer.
    var key: RequestKey? { witness.flatMap { $0 as? RequestKey } }

    /// Ends a request that its client has given up, and of which nothing was done.
    ///
    /// A repeat of it runs.
    func giveUp() {
        answerInVain()
        witness?.answered()
    }
}
