internal import LatchkeySync
internal import Synchronization

/// Receives every commit of a ``PropertyStore``, and says when it may be seen.
///
/// **Design.** A journal or a replicated log uses it. It receives each commit once, with its
/// revision, after the guarded section, before any answer shows it, and on the thread that made it.
/// So commits can arrive out of the order of their revisions, even two commits of one property. A
/// hook orders them by revision: revisions have no gap. A release is always of one revision and all
/// before it, and the user has received all of them.
///
/// Until then, answers that depend on the commit wait: the answer to the change itself, reads of
/// the properties that it changed, refusals that were decided by them, and pages. Nothing else
/// waits. A waiting answer is a closure in `state`, which the releasing thread calls. It blocks
/// no thread and holds no guarded section.
///
/// **Withdrawal.** ``PropertyStore/withdraw(after:_:completion:)`` takes commits back while it
/// holds all tables. Before a table is free again, ``beginWithdrawal(after:_:)`` numbers a new
/// generation. Revisions are used again, so each answer has the generation that it was decided
/// in. An answer of an older generation whose revision was withdrawn is no longer true. Its change
/// is refused; anything else is decided again.
///
/// The user must be able to forget what was withdrawn without knowing generations. So no commit of
/// the new generation is given to it before it was told, and none of the old one afterwards:
/// `passing` counts the threads that are giving it a commit, and the last of them tells it. Commits
/// of the new generation wait in `deferred` meanwhile, and no thread does.
///
/// `state` is guarded by its lock, which is not held while anything is called.
package final class CommitHook: Sendable {
    /// What became of what an answer depends on.
    enum Outcome: Sendable {
        case released
        case withdrawn(Withdrawal)
    }

    private struct Passed: Sendable {
        let commit: Commit
        let note: CommitNote?
    }

    private struct State: Sendable {
        var waiting = WaitingAnswers()
        var withdrawals = Withdrawals()
        /// The withdrawal that the user has not been told of.
        var ending: Ending?
    }

    /// What is left to do for a withdrawal.
    private struct Ending: Sendable {
        let reason: Withdrawal
        let answers: [WaitingAnswers.Proceed]
        var deferred: [Passed] = []
        var completion: (@Sendable () -> Void)?
    }

    let unreleasedCommits: UnreleasedCommits
    private let receive: @Sendable (Commit, _ note: CommitNote?) -> Void
    private let releasedRevision = Atomic<Revision>(0)
    private let currentGeneration = Atomic<Generation>(0)
    /// How many threads give commits to the user; ``isAwaited`` is added by who waits for them.
    private let passing = Atomic<Int>(0)
    private let state = Guarded<State>(State())
    /// Called before a commit is passed: a test plants a delay there.
    private let beforePassing: (@Sendable () -> Void)?

    private static let isAwaited = 1 << 32

    /// - Parameters:
    ///   - limits: The bounds of what is not released.
    ///   - receive: Called with each commit, and with the note of its receiver; it must not block.
    ///     It may call ``release(through:)``.
    package convenience init(
        limits: UnreleasedLimits = UnreleasedLimits(),
        receive: @escaping @Sendable (Commit, _ note: CommitNote?) -> Void
    ) {
        self.init(limits, beforePassing: nil, receive)
    }

    init(
        _ limits: UnreleasedLimits,
        beforePassing: (@Sendable () -> Void)?,
        _ receive: @escaping @Sendable (Commit, _ note: CommitNote?) -> Void
    ) {
        unreleasedCommits = UnreleasedCommits(limits)
        self.beforePassing = beforePassing
        self.receive = receive
    }

    /// How many changes are accepted and not released, and the bytes of their properties.
    package var unreleased: (count: Int, byteCount: Int) { unreleasedCommits.usage }

    /// The latest revision that is released.
    ///
    /// Acquiring: pairs with the store in ``release(through:)``, so that a thread that sees a
    /// revision as released sees what was done to release it.
    var released: Revision { releasedRevision.load(ordering: .acquiring) }

    /// The generation of what is decided now.
    ///
    /// A reader that can enter beside a writer asks before it looks: then it does not take what it
    /// finds for newer than it is. Acquiring: pairs with the store in
    /// ``beginWithdrawal(after:_:)``, so that who sees a generation finds no earlier table.
    var generation: Generation { currentGeneration.load(ordering: .acquiring) }

    /// Begins behind a revision, which counts as released, before a first commit is received.
    func begin(after revision: Revision) {
        state.write { state in
            state.waiting.begin(after: revision)
            releasedRevision.store(revision, ordering: .releasing)
        }
    }

    /// Lets everybody see the commits up to this revision, all of which were received.
    ///
    /// The answers that waited for it are sent on the calling thread, in the order of revisions.
    package func release(through revision: Revision) {
        let (former, ready) = state.write { state in
            let former = releasedRevision.load(ordering: .relaxed)
            guard revision > former else {
                return (revision, [WaitingAnswers.Proceed]())
            }
            releasedRevision.store(revision, ordering: .releasing)
            return (former, state.waiting.takeAll(through: revision))
        }
        unreleasedCommits.release(after: former, through: revision)
        for proceed in ready {
            proceed(.released)
        }
    }

    /// Whether an answer may be seen.
    ///
    /// The revision is asked first. If the generation is current after that, it was then, too.
    func isReleased(_ revision: Revision, _ generation: Generation) -> Bool {
        revision <= released && generation == self.generation
    }

    /// Calls `proceed` once the answer that depends on the revision may be seen, or was withdrawn:
    /// at once if it is so.
    func whenDecided(
        _ revision: Revision,
        _ generation: Generation,
        _ proceed: @escaping @Sendable (Outcome) -> Void
    ) {
        let outcome =
            isReleased(revision, generation)
            ? Outcome.released
            : state.write { state -> Outcome? in
                if let reason = state.withdrawals.reason(revision, generation) {
                    return .withdrawn(reason)
                }
                return state.waiting.add(revision, proceed) ? nil : .released
            }
        if let outcome {
            proceed(outcome)
        }
    }

    /// Takes a place for a change of so many bytes, until its commit is released.
    func admit(_ byteCount: Int) throws(BacklogFull) {
        try unreleasedCommits.take(byteCount)
    }

    /// Keeps a commit that is made until it is released, inside the guarded section, or gives back
    /// the place of a change that makes none.
    func keep(_ decision: Decision, takenByteCount: Int) {
        if case .success(let commit) = decision, !commit.isEmpty {
            unreleasedCommits.keep(commit, takenByteCount: takenByteCount)
        } else {
            unreleasedCommits.giveBack(1, takenByteCount)
        }
    }

    /// Gives back the place of a change that was not submitted.
    func giveBack(_ byteCount: Int) {
        unreleasedCommits.giveBack(1, byteCount)
    }

    /// Gives the commit to the user of the hook, and calls `proceed` as
    /// ``whenDecided(_:_:_:)``.
    func pass(
        _ commit: Commit,
        _ generation: Generation,
        note: CommitNote?,
        _ proceed: @escaping @Sendable (Outcome) -> Void
    ) {
        beforePassing?()
        let (isPassed, outcome) = state.write { state -> (Bool, Outcome?) in
            if let reason = state.withdrawals.reason(commit.revision, generation) {
                return (false, .withdrawn(reason))
            }
            // The answer waits before the user can release the commit.
            let outcome: Outcome? =
                state.waiting.add(commit.revision, proceed) ? nil : .released
            guard state.ending == nil else {
                state.ending?.deferred.append(Passed(commit: commit, note: note))
                return (false, outcome)
            }
            passing.wrappingAdd(1, ordering: .relaxed)
            return (true, outcome)
        }
        if isPassed {
            receive(commit, note)
            leave()
        }
        if let outcome {
            proceed(outcome)
        }
    }

    /// Leaves the threads that pass commits.
    ///
    /// Releasing, and acquiring for the last one: who is told of a withdrawal has received all.
    private func leave() {
        let left = passing.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
        if left == Self.isAwaited {
            tell()
        }
    }
}

extension CommitHook {
    /// Withdraws all answers of this generation that depend on a later revision.
    ///
    /// Called when no thread can see what they were decided by any more, before new commits are
    /// made.
    /// No two withdrawals overlap. A thread may begin the next one as soon as the completion of the
    /// last one was called: it waits here for one access to `state`.
    func beginWithdrawal(after revision: Revision, _ reason: Withdrawal) {
        state.write(
            when: { $0.ending == nil },
            { state in
                state.withdrawals.add(after: revision, reason)
                state.ending = Ending(
                    reason: reason,
                    answers: state.waiting.takeAll(after: revision)
                )
                currentGeneration.wrappingAdd(1, ordering: .releasing)
            }
        )
    }

    /// Tells the user that the commits are withdrawn, and sends the answers that waited for them.
    ///
    /// On the calling thread, or on the last one that gives the user such a commit.
    func endWithdrawal(_ completion: @escaping @Sendable () -> Void) {
        state.write { $0.ending?.completion = completion }
        let left = passing.wrappingAdd(Self.isAwaited, ordering: .acquiringAndReleasing).newValue
        if left == Self.isAwaited {
            tell()
        }
    }

    /// No commit that is withdrawn is on its way to the user.
    ///
    /// A loop, because the next withdrawal can end while the commits of the new generation are
    /// given to the user here.
    private func tell() {
        var left = Self.isAwaited
        while left == Self.isAwaited {
            state.read { $0.ending }?.completion?()
            let ending = state.write { state in
                passing.wrappingSubtract(Self.isAwaited - 1, ordering: .relaxed)
                return state.ending.take()
            }
            // Behind that: they can take long, and enter the store.
            for proceed in ending?.answers ?? [] {
                proceed(.withdrawn(ending?.reason ?? .unavailable))
            }
            for passed in ending?.deferred ?? [] {
                receive(passed.commit, passed.note)
            }
            left = passing.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
        }
    }
}

/// The answers that wait for revisions.
private struct WaitingAnswers: Sendable {
    typealias Proceed = @Sendable (CommitHook.Outcome) -> Void

    /// Those that wait for one revision: that of the change, and of others.
    private struct Place: Sendable {
        var first: Proceed?
        var others: [Proceed] = []

        mutating func add(_ proceed: @escaping Proceed) {
            if first == nil {
                first = proceed
            } else {
                others.append(proceed)
            }
        }

        func append(to answers: inout [Proceed]) {
            if let first {
                answers.append(first)
                answers += others
            }
        }
    }

    /// The revision before that of the first place.
    private var start: Revision = 0
    /// One for each revision, up to the last that is waited for.
    private var places = RingBuffer<Place>()

    mutating func begin(after revision: Revision) {
        precondition(places.count == 0, "No answer waits before the first commit.")
        start = revision
    }

    /// Adds an answer; false if it does not have to wait for the revision any more.
    mutating func add(_ revision: Revision, _ proceed: @escaping Proceed) -> Bool {
        guard revision > start else {
            return false
        }
        let index = Int(revision - start) - 1
        while places.count <= index {
            places.append(Place())
        }
        places.change(index) { $0.add(proceed) }
        return true
    }

    /// Takes those up to a revision, in order.
    mutating func takeAll(through revision: Revision) -> [Proceed] {
        precondition(
            revision - start <= places.count,
            "A commit is released after it was received."
        )
        var answers: [Proceed] = []
        answers.reserveCapacity(Int(revision - start))
        while start < revision, let place = places.popFirst() {
            start += 1
            place.append(to: &answers)
        }
        return answers
    }

    /// Takes those behind a revision, in order.
    mutating func takeAll(after revision: Revision) -> [Proceed] {
        var answers: [Proceed] = []
        let kept = Int(revision - start)
        for index in min(kept, places.count)..<places.count {
            places[index].append(to: &answers)
        }
        while places.count > kept {
            places.removeLast()
        }
        return answers
    }
}
