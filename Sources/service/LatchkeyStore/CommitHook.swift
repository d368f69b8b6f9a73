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
/// waits. A waiting answer is a closure in `waiting`, which the releasing thread calls. It blocks
/// no thread and holds no guarded section.
///
/// A commit is never taken back: one that cannot be written is not released, until it is written or
/// the process ends.
///
/// `waiting` is guarded by its lock, which is not held while anything is called.
package final class CommitHook: Sendable {
    /// How a commit was released.
    enum Release: Sendable {
        /// It is written.
        case written
        /// It is perhaps not written, but all clients may see it.
        case unwritten
    }

    let unreleasedCommits: UnreleasedCommits
    private let receive: @Sendable (Commit, _ note: CommitNote?) -> Void
    private let releasedRevision = Atomic<Revision>(0)
    private let waiting = Guarded<WaitingAnswers>(WaitingAnswers())

    /// - Parameters:
    ///   - limits: The limits of unreleased commits.
    ///   - receive: Called with each commit, and with the note of its receiver; it must not block.
    ///     It may call ``release(through:isWritten:)``.
    package init(
        limits: UnreleasedLimits = UnreleasedLimits(),
        receive: @escaping @Sendable (Commit, _ note: CommitNote?) -> Void
    ) {
        unreleasedCommits = UnreleasedCommits(limits)
        self.receive = receive
    }

    /// How many changes are accepted and not released, and the bytes of their properties.
    package var unreleased: (count: Int, byteCount: Int) { unreleasedCommits.usage }

    /// The latest revision that is released.
    ///
    /// Acquiring: pairs with the store in ``release(through:isWritten:)``, so that a thread that
    /// sees a revision as released sees what was done to release it.
    var released: Revision { releasedRevision.load(ordering: .acquiring) }

    /// Begins after a revision, which counts as released, before the first commit is received.
    func begin(after revision: Revision) {
        waiting.write { waiting in
            waiting.begin(after: revision)
            releasedRevision.store(revision, ordering: .releasing)
        }
    }

    /// Lets all clients see the commits up to this revision, all of which were received.
    ///
    /// The answers that waited for it are sent on the calling thread, in the order of revisions.
    ///
    /// - Parameters:
    ///   - revision: The last of the commits.
    ///   - isWritten: Whether they are written; else their makers are told that the outcome is not
    ///     known.
    package func release(through revision: Revision, isWritten: Bool = true) {
        let ready = waiting.write { waiting in
            guard revision > releasedRevision.load(ordering: .relaxed) else {
                return WaitingAnswers.Ready()
            }
            releasedRevision.store(revision, ordering: .releasing)
            return waiting.takeAll(through: revision)
        }
        unreleasedCommits.giveBack(ready.commitCount, ready.byteCount)
        for proceed in ready.answers {
            proceed(isWritten ? .written : .unwritten)
        }
    }

    /// Calls `proceed` once the answer that depends on the revision may be seen: at once if it is
    /// so.
    func whenReleased(_ revision: Revision, _ proceed: @escaping @Sendable () -> Void) {
        let waits = revision > released && waiting.write { $0.add(revision) { _ in proceed() } }
        if !waits {
            proceed()
        }
    }

    /// Takes a place for a change of so many bytes, until its commit is released.
    func admit(_ byteCount: Int) throws(BacklogFull) {
        try unreleasedCommits.take(byteCount)
    }

    /// Counts the bytes of the properties of a commit that is made, inside the guarded section, or
    /// gives back the place of a change that makes none.
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

    /// Gives the commit to the user of the hook, and calls `proceed` once it is released.
    func pass(
        _ commit: Commit,
        note: CommitNote?,
        _ proceed: @escaping @Sendable (Release) -> Void
    ) {
        let byteCount = commit.propertyByteCount
        // The answer waits before the user can release the commit.
        let waits = waiting.write { $0.add(commit.revision, proceed, byteCount: byteCount) }
        receive(commit, note)
        if !waits {
            giveBack(byteCount)
            proceed(.written)
        }
    }
}

/// The answers that wait for revisions, and the room that their commits have taken.
private struct WaitingAnswers: Sendable {
    typealias Proceed = @Sendable (CommitHook.Release) -> Void

    /// The answers to send and the room to give back for a release.
    struct Ready {
        var answers: [Proceed] = []
        var commitCount = 0
        var byteCount = 0
    }

    /// The answers that wait for one revision: the one to the change itself, and others.
    private struct Place: Sendable {
        var first: Proceed?
        var others: [Proceed] = []
        /// The bytes of the commit's properties; nil until it is received.
        var byteCount: Int?

        mutating func add(_ proceed: @escaping Proceed) {
            if first == nil {
                first = proceed
            } else {
                others.append(proceed)
            }
        }

        func move(to ready: inout Ready) {
            if let first {
                ready.answers.append(first)
                ready.answers += others
            }
            if let byteCount {
                ready.commitCount += 1
                ready.byteCount += byteCount
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
    ///
    /// The answer to the change itself comes with the bytes of the commit's properties.
    mutating func add(
        _ revision: Revision,
        _ proceed: @escaping Proceed,
        byteCount: Int? = nil
    ) -> Bool {
        guard revision > start else {
            return false
        }
        let index = Int(revision - start) - 1
        while places.count <= index {
            places.append(Place())
        }
        places.change(index) { place in
            place.add(proceed)
            place.byteCount = byteCount ?? place.byteCount
        }
        return true
    }

    /// Takes the answers up to a revision, in order.
    mutating func takeAll(through revision: Revision) -> Ready {
        precondition(
            revision - start <= places.count,
            "A commit is released after it was received."
        )
        var ready = Ready()
        ready.answers.reserveCapacity(Int(revision - start))
        while start < revision, let place = places.popFirst() {
            start += 1
            place.move(to: &ready)
        }
        return ready
    }
}
