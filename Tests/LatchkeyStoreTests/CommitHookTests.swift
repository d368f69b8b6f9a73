import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The commits that a hook sees, and the answers that it holds back.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct CommitHookTests {
    @Test(arguments: Depth.kinds, [1, 8])
    func `answers that depend on a commit wait for its release, and no others`(
        kind: StrategyKind,
        stripeCount: Int
    ) {
        releasingLate(kind, stripeCount: stripeCount)
    }

    @Test(arguments: Depth.kinds)
    func `each commit passes the hook once, and no read shows what is not released`(
        kind: StrategyKind
    ) {
        ReadingReleased().run(kind)
    }

    @Test(arguments: Depth.kinds, [1, 8])
    func `a commit of several properties is held back in all of them`(
        kind: StrategyKind,
        stripeCount: Int
    ) {
        releasingSeveral(kind, stripeCount: stripeCount)
    }

    @Test(arguments: Depth.kinds)
    func `a commit released unwritten can be seen, and its maker learns that its fate is unknown`(
        kind: StrategyKind
    ) {
        let commits = Arrivals()
        let hook = CommitHook { _, _ in commits.arrive() }
        let store = BlockingStore(kind, stripeCount: 4, hook: hook)
        let answers = Answers(store)
        answers.commit("1", Change(.put("a", "1")))
        #expect(commits.wait(for: 1))
        answers.look("a")
        answers.commit("absent", Change(.put("a", "2", Conditions(ifNoneMatch: .any))))
        answers.list()
        hook.release(through: 1, isWritten: false)
        let unknown = Refusal.unavailable(.unknown)
        let expected = ["1 \(unknown)", "a 1", "absent preconditionFailed", "page 1: 1"]
        #expect(answers.wait(for: expected))
        #expect(hook.unreleased == (0, 0))
    }
}

/// A hook that releases commits when the test says so.
///
///     commits          released   answered
///     -------          --------   --------
///     1 old, 2 gone    2          both
///     3 new                       nothing that depends on new
///     4 gone deleted              nothing that depends on gone, no page
///                      3          what depends on new
///                      4          the rest
private func releasingLate(_ kind: StrategyKind, stripeCount: Int) {
    let commits = Arrivals()
    let hook = CommitHook { _, _ in commits.arrive() }
    let store = BlockingStore(kind, stripeCount: stripeCount, hook: hook)
    let answers = Answers(store)
    let exists = Conditions(ifNoneMatch: .any)

    answers.commit("1", Change(.put("old", "1")))
    answers.commit("2", Change(.put("gone", "1")))
    #expect(commits.wait(for: 2))
    hook.release(through: 2)
    #expect(answers.wait(for: ["1 done", "2 done"]))

    answers.commit("3", Change(.put("new", "1")))
    #expect(commits.wait(for: 3))
    answers.commit("4", Change(.delete("gone")))
    #expect(commits.wait(for: 4))
    answers.look("new")
    answers.look("gone")
    answers.commit("new again", Change(.put("new", "2", exists)))
    answers.commit("gone again", Change(.delete("gone")))
    answers.list()
    answers.commit("old again", Change(.put("old", "2", exists)))
    answers.look("never")
    answers.look("old")
    let atOnce = ["1 done", "2 done", "old again preconditionFailed", "never -", "old 1"]
    #expect(answers.wait(for: atOnce))
    #expect(store.base.usage.revision == 2)

    hook.release(through: 3)
    let later = ["3 done", "new 1", "new again preconditionFailed"]
    #expect(answers.wait(for: atOnce + later))
    #expect(store.base.usage.revision == 3)

    hook.release(through: 4)
    let last = ["4 done", "gone -", "gone again missing", "page 4: 2"]
    #expect(answers.wait(for: atOnce + later + last))
    #expect(store.property("new")?.revision == 3)
}

/// A commit of several properties waits for its release.
///
///     commits                      released   answered
///     -------                      --------   --------
///     1 three puts                 1          all
///     2 p0 put, p1 and p2 gone                nothing that depends on one of them, no page
///                                  2          the rest
private func releasingSeveral(_ kind: StrategyKind, stripeCount: Int) {
    let passed = Synchronized<[Commit], LockStrategy>([])
    let commits = Arrivals()
    let hook = CommitHook { commit, _ in
        passed.write { $0.append(commit) }
        commits.arrive()
    }
    let store = BlockingStore(kind, stripeCount: stripeCount, hook: hook)
    let answers = Answers(store)
    let exists = Conditions(ifNoneMatch: .any)

    answers.commit("1", Change([.put("p0", "1"), .put("p1", "1"), .put("p2", "1")]))
    #expect(commits.wait(for: 1))
    answers.commit("never", Change(.delete("q")))
    #expect(answers.wait(for: ["never missing"]))
    hook.release(through: 1)
    #expect(answers.wait(for: ["never missing", "1 done"]))

    answers.commit("2", Change([.delete("p2"), .put("p0", "2"), .delete("p1")]))
    #expect(commits.wait(for: 2))
    for name in ["p0", "p1", "p2", "q"] { answers.look(name) }
    answers.list()
    let isThere = Conditions(ifMatch: .any)
    let refusal = Refusal.step(1, .then, .preconditionFailed)
    answers.commit("refused", Change([.put("q", "1"), .get("p2", isThere)]))
    answers.commit("refused too", Change([.put("q", "1"), .put("p0", "3", exists)]))
    answers.commit("apart", Change([.put("q", "1"), .get("r", isThere)]))
    let atOnce = ["never missing", "1 done", "q -", "apart \(refusal)"]
    #expect(answers.wait(for: atOnce))
    #expect(store.base.usage.revision == 1)

    hook.release(through: 2)
    let later = [
        "2 done", "p0 2", "p1 -", "p2 -", "page 2: 1", "refused \(refusal)",
        "refused too \(refusal)",
    ]
    #expect(answers.wait(for: atOnce + later))
    #expect(passed.read { $0.map(\.revision) } == [1, 2])
    #expect(passed.read { $0.map(\.effects.count) } == [3, 3])
}

/// The answers of a store, as they come.
final class Answers: Sendable {
    private let store: BlockingStore
    private let texts = Synchronized<[String], LockStrategy>([])
    private let arrivals = Arrivals()

    init(_ store: BlockingStore) {
        self.store = store
    }

    private func add(_ text: String) {
        texts.write { $0.append(text) }
        arrivals.arrive()
    }

    /// Waits for as many answers, which must be these in any order.
    func wait(for expected: [String]) -> Bool {
        let haveCome = arrivals.wait(for: expected.count)
        let found = texts.read { $0 }
        #expect(found.sorted() == expected.sorted())
        return haveCome
    }

    func commit(_ title: String, _ change: Change) {
        do {
            try store.base.commit(change, .here()) { [self] decision in
                switch decision {
                case .success: add("\(title) done")
                case .failure(let refusal): add("\(title) \(refusal)")
                }
            }
        } catch {
            Issue.record("a few changes do not fill a backlog")
        }
    }

    func look(_ name: String) {
        do throws(BacklogFull) {
            try store.base.look(.owning(name), in: .live, .here()) { [self] property in
                add("\(name) \(property.map(store.text) ?? "-")")
            }
        } catch {
            Issue.record("a few reads do not fill a backlog")
        }
    }

    func list() {
        let request = PageRequest(prefix: OwnedBytes([]), after: nil, limit: 10)
        store.base.list(request, .here()) { [self] page in
            add("page \(page.revision): \(page.properties.count)")
        }
    }
}

/// Writers count; a journal releases what it has without a gap, late and in pieces.
private struct ReadingReleased {
    private static let (writerCount, stepCount, nameCount) = (3, 100, 5)

    func run(_ kind: StrategyKind) {
        let passed = Synchronized<[Revision], LockStrategy>([])
        let hook = CommitHook { commit, _ in passed.write { $0.append(commit.revision) } }
        let store = BlockingStore(kind, stripeCount: 8, hook: hook)
        let writers = Arrivals()
        let commitCount = Revision(Self.writerCount * Self.stepCount)
        let journal = TestThread {
            while hook.released < commitCount {
                let known = Set(passed.read { $0 })
                let next = (hook.released + 1...commitCount + 1).first { !known.contains($0) }
                hook.release(through: (next ?? 1) - 1)
                Yield.now()
            }
        }
        let ended = TestThread.run(Self.writerCount + 2) { thread in
            if thread < Self.writerCount {
                for step in 0..<Self.stepCount {
                    let revision = store.increment("n\((thread + step) % Self.nameCount)")
                    #expect(revision <= hook.released)
                }
                writers.arrive()
            } else {
                var name = thread
                while writers.value < Self.writerCount {
                    name = (name + 1) % Self.nameCount
                    let revision = store.property("n\(name)")?.revision ?? 0
                    #expect(revision <= hook.released)
                    let page = store.list(limit: 10)
                    #expect(page.revision <= hook.released)
                }
            }
        }
        #expect(ended && journal.join())
        #expect(passed.read { $0.sorted() } == Array(1...commitCount))
    }
}
