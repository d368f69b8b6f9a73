internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The key of a running request: finds the decision on an earlier request with the key, and keeps a
/// new one.
final class RequestKey: AnswerWitness {
    /// The identity of the request.
    let identity: RequestIdentity
    private let owner: KeyOwner
    private let repetition: Repetition
    private let repeats = Guarded(false)

    init(_ identity: RequestIdentity, _ owner: KeyOwner, _ repetition: Repetition) {
        (self.identity, self.owner, self.repetition) = (identity, owner, repetition)
    }

    /// Whether the answer is the one to an earlier request.
    var isRepeat: Bool { repeats.read { $0 } }

    func noteRepeat() { repeats.write { $0 = true } }

    func refused() { repeats.write { $0 = false } }

    /// The decision on an earlier request; nil if there is none yet.
    func decision(of change: Change) -> Decision? {
        repetition.keys.decision(of: identity, change)
    }

    func keep(_ decision: Decision, of change: Change) {
        repetition.keys.keep(decision, of: identity, change)
    }

    /// The kept entry of an earlier request; nil if there is none.
    var kept: IdentityTable.Entry? { repetition.keys.entry(identity.key) }

    func keep(_ answer: KeptDecision) { repetition.keys.keep(answer, of: identity) }

    /// The note to store with a commit, so that a repeat after a restart gets its decision.
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

    /// Notes that the request waits: a repeat with a shorter wait ends it.
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

    /// Ends a request that its client has given up, and that has had no effect.
    ///
    /// A repeat of it will run.
    func giveUp() {
        answerInVain()
        witness?.answered()
    }
}
