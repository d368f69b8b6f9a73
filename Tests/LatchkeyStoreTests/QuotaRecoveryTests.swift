import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Quotas of stores that go on from an earlier life.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct QuotaRecoveryTests {
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
