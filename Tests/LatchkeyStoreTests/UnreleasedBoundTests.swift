import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The limit on commits that are not released.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct UnreleasedBoundTests {
    @Test(arguments: Depth.kinds)
    func `beyond the bound changes and evictions are refused until commits are released`(
        kind: StrategyKind
    ) {
        reachingTheBound(kind)
    }

    @Test func `bytes are bounded, and those of former properties count`() {
        let commits = Arrivals()
        let hook = CommitHook(limits: UnreleasedLimits(byteCountMax: 20)) { _, _ in
            commits.arrive()
        }
        let store = BlockingStore(stripeCount: 4, hook: hook)
        let answers = Answers(store)
        answers.commit("1", Change(.put("a", "123456789")))
        #expect(hook.unreleased == (1, 10))
        answers.commit("2", Change(.put("a", "1")))
        #expect(hook.unreleased == (2, 22))
        #expect(refuses(store, .put("b", "1")))
        hook.release(through: 1)
        #expect(hook.unreleased == (1, 12))
        answers.commit("3", Change([.put("b", "12"), .delete("a"), .get("c")]))
        #expect(hook.unreleased == (2, 12 + 3 + 2))
        hook.release(through: 3)
        #expect(hook.unreleased == (0, 0))
        // A single change can exceed the limit.
        answers.commit("4", Change(.put("c", String(repeating: "1", count: 100))))
        #expect(hook.unreleased == (1, 101))
        hook.release(through: 4)
        #expect(answers.wait(for: (1...4).map { "\($0) done" }))
    }

    @Test func `expiry and eviction go on when there is room again`() throws {
        let received = Synchronized<Revision, LockStrategy>(0)
        let hook = CommitHook(limits: UnreleasedLimits(commitCountMax: 50)) { commit, _ in
            received.write { $0 = max($0, commit.revision) }
        }
        let bench = HookedBench(hook)
        let count: Revision = 1000
        for index in 0..<count {
            // Each at an instant of its own.
            try bench.increment("n\(index)", ttl: TimeToLive(5 + index))
            hook.release(through: index + 1)
        }
        bench.clock.advance(5 + TimeToLive(count))
        while bench.journal.last < 2 * count {
            let latest = received.read { $0 }
            // Not the places: a refused change has taken one for a moment.
            #expect(latest <= hook.released + 50)
            hook.release(through: latest)
            Yield.now()
        }
        #expect(bench.expiries.count == count)
    }
}

private func refuses(_ store: BlockingStore, _ step: Change.Step) -> Bool {
    do throws(BacklogFull) {
        try store.base.commit(Change(step), .here(), completion: { _ in })
        return false
    } catch {
        return true
    }
}

private func reachingTheBound(_ kind: StrategyKind) {
    let commits = Arrivals()
    let hook = CommitHook(limits: UnreleasedLimits(commitCountMax: 3)) { _, _ in
        commits.arrive()
    }
    let store = BlockingStore(kind, stripeCount: 1, hook: hook)
    let answers = Answers(store)
    var expected: [String] = []
    for index in 1...3 {
        answers.commit("\(index)", Change(.put("n\(index)", "1")))
        #expect(commits.wait(for: index))
    }
    #expect(hook.unreleased == (3, 9))
    #expect(refuses(store, .put("a", "1")))
    #expect(refuses(store, .get("a")))
    hook.release(through: 2)
    expected = ["1 done", "2 done"]
    #expect(answers.wait(for: expected))
    #expect(hook.unreleased == (1, 3))
    // A refusal keeps no place.
    for index in 0..<5 {
        answers.commit("never \(index)", Change(.delete("x")))
        expected.append("never \(index) missing")
        #expect(answers.wait(for: expected))
    }
    #expect(hook.unreleased == (1, 3))
    // The places are used again and again.
    for index in 4...40 {
        answers.commit("\(index)", Change(.put("n", "1")))
        #expect(commits.wait(for: index))
        hook.release(through: Revision(index))
        expected.append("\(index) done")
    }
    expected.append("3 done")
    #expect(answers.wait(for: expected))
    #expect(hook.unreleased == (0, 0))
}
