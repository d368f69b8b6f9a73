import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Quotas of stores whose commits are withdrawn, and of stores that go on from an earlier life.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct QuotaRecoveryTests {
    @Test(arguments: Depth.kinds)
    func `what is withdrawn is given back exactly`(kind: StrategyKind) {
        withdrawingAtTheBound(kind)
    }

    @Test(arguments: Depth.kinds)
    func `a lower quota of the next life refuses only growth`(kind: StrategyKind) {
        restartingLower(kind)
    }
}

/// A store that releases nothing before it is told.
private func hooked(
    _ kind: StrategyKind,
    _ hook: CommitHook,
    _ bounds: KeyValuePairs<String, Int>
) -> BlockingStore {
    BlockingStore(kind, stripeCount: 4, limits: .quotas(bounds), hook: hook)
}

/// A full quota whose commits are not released, then withdrawn.
///
///     commits                      released   withdrawn   used
///     -------                      --------   ---------   ----
///     1 a1 put                     1                      4
///     2 a1 shrinks, a2, b put                 2, 3        10
///     3 a1 delete                                         8
private func withdrawingAtTheBound(_ kind: StrategyKind) {
    let received = Arrivals()
    let hook = CommitHook { _, _ in received.arrive() }
    let store = hooked(kind, hook, ["a": 10, "a2": 8])
    let answers = Synchronized<[Decision], LockStrategy>([])
    let answered = Arrivals()
    func submit(_ steps: [Change.Step]) {
        do {
            try store.base.commit(Change(steps), .here()) { decision in
                answers.write { $0.append(decision) }
                answered.arrive()
            }
        } catch {
            Issue.record("\(error)")
        }
    }
    submit([.put("a1", "12")])
    #expect(received.wait(for: 1))
    hook.release(through: 1)
    submit([.put("a1", "1"), .put("a2", "12345"), .put("b", "1")])
    #expect(received.wait(for: 2))
    #expect(store.base.quotaUsage.byteCounts == ["a": 10, "a2": 7])
    submit([.delete("a1")])
    #expect(received.wait(for: 3))
    #expect(store.base.quotaUsage.byteCounts == ["a": 7, "a2": 7])
    withdraw(store, after: 1, .full)
    #expect(answered.wait(for: 3))
    #expect(store.base.quotaUsage.byteCounts == ["a": 4, "a2": 0])
    submit([.put("a3", "12345")])
    #expect(answered.wait(for: 4))
    submit([.put("a3", "1234")])
    #expect(received.wait(for: 4))
    hook.release(through: 2)
    #expect(answered.wait(for: 5))
    let decisions = answers.read { $0 }
    #expect(decisions.map(\.isSuccess) == [true, false, false, false, true])
    #expect(decisions[3].refusingPrefix == "a")
    #expect(store.base.quotaUsage.byteCounts == ["a": 10, "a2": 0])
}

private func restartingLower(_ kind: StrategyKind) {
    let first = BlockingStore(kind, stripeCount: 2)
    let commits = [[.put("a1", "123456")], [.put("a2", "123456")], [.delete("a1")]]
        .compactMap { try? first.commit($0 as [Change.Step]).get() }
    let hook = ReleasingHook()
    let store = hooked(kind, hook.hook, ["a": 6])
    let _: Bool = store.wait { completion in
        store.base.load(commits[0].effects.compactMap(\.property)) { completion(true) }
    }
    #expect(store.base.quotaUsage.byteCounts == ["a": 8])
    let stored = commits.map { commit in
        StoredCommit(
            revision: commit.revision,
            time: commit.time,
            effects: commit.effects.map { effect in
                StoredEffect(
                    name: PropertyName(of: effect.some),
                    property: effect.property,
                    reason: effect.reason
                )
            }
        )
    }
    let replayed = store.wait { store.base.replay(stored, completion: $0) }
    #expect(replayed.count == 3)
    #expect(store.base.quotaUsage.byteCounts == ["a": 8])
    func put(_ name: String, _ value: String) -> Decision {
        store.commit(Change(.put(name, value)))
    }
    #expect(put("a3", "1").refusingPrefix == "a")
    #expect(put("a2", "654321").isSuccess, "it does not grow")
    #expect(put("a2", "54321").isSuccess)
    #expect(put("a2", "654321").refusingPrefix == "a")
    store.delete("a2")
    #expect(put("a3", "1234").isSuccess)
    #expect(store.base.quotaUsage.byteCounts == ["a": 6])
}
