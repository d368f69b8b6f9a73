import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Quotas at their limits, one change after the other.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct QuotaTests {
    private typealias Store = BlockingStore

    private func store(_ bounds: KeyValuePairs<String, Int>) -> Store {
        Store(stripeCount: 4, limits: .quotas(bounds))
    }

    @Test func `a change at the bound is made, and one above it is refused`() {
        let store = store(["a/": 20])
        #expect(store.put("a/1", 7).isSuccess)
        #expect(store.put("a/2", 8).refusingPrefix == "a/")
        #expect(store.put("a/2", 7).isSuccess)
        #expect(store.base.quotaUsage.byteCounts == ["a/": 20])
        #expect(store.put("b", 100).isSuccess)
        #expect(store.put("a", 100).isSuccess, "a name that is shorter than the prefix")
        #expect(store.put("a0", 100).isSuccess)
        #expect(store.base.quotaUsage.byteCounts == ["a/": 20])
        #expect(store.base.quotaUsage.refusalCounts == ["a/": 1])
        #expect(store.put("a/1", 8).refusingPrefix == "a/")
        #expect(store.put("a/1", 6).isSuccess)
        #expect(store.put("a/2", 8).isSuccess)
        store.delete("a/1")
        #expect(store.base.quotaUsage.byteCounts == ["a/": 11])
    }

    @Test func `increments and patches count by what they leave`() {
        let store = store(["a": 3])
        #expect(store.commit(Change(.put("a", "8"))).isSuccess)
        store.increment("a")
        #expect(store.base.quotaUsage.byteCounts == ["a": 2])
        store.increment("a")
        #expect(store.base.quotaUsage.byteCounts == ["a": 3])
        #expect(store.commit(.increment(.owning("a"), by: 90)).refusingPrefix == "a")
        #expect(store.value("a") == "10")
        let patch = OwnedBytes(Array(#"{"x":1}"#.utf8))
        let merge = unsafe Change.merge(.owning("a"), patch: patch.bytes)
        #expect(store.commit(merge).refusingPrefix == "a")
        #expect(store.commit(.increment(.owning("a"), by: -1)).isSuccess)
        #expect(store.base.quotaUsage.byteCounts == ["a": 2])
        withExtendedLifetime(patch) {}
    }

    @Test func `all quotas of nested prefixes hold, and the longest one is named`() {
        let store = store(["a/b/": 20, "a/": 30, "a/b/c": 10, "a/c/": 100])
        #expect(store.put("a/b/1", 15).isSuccess)
        #expect(store.put("a/b/2", 1).refusingPrefix == "a/b/")
        #expect(store.put("a/1", 7).isSuccess)
        #expect(store.base.quotaUsage.byteCounts["a/"] == 30)
        #expect(store.put("a/c/1", 1).refusingPrefix == "a/")
        #expect(store.base.quotaUsage.byteCounts["a/c/"] == 0, "given back after the refusal")
        store.delete("a/b/1")
        #expect(store.put("a/b/c", 5).isSuccess)
        #expect(store.put("a/b/cd", 1).refusingPrefix == "a/b/c")
        let expected = ["a/": 20, "a/b/": 10, "a/b/c": 10, "a/c/": 0]
        #expect(store.base.quotaUsage.byteCounts == expected)
        #expect(store.base.quotaUsage.map(\.quota.text) == expected.keys.sorted())
    }

    @Test func `a transaction that moves bytes inside a full quota is made`() {
        let store = store(["a": 10])
        #expect(store.put("a1", 8).isSuccess)
        #expect(store.commit([.put("a2", "12345678"), .delete("a1")]).isSuccess)
        #expect(store.commit([.put("a3", "123456789"), .delete("a2")]).refusingPrefix == "a")
        #expect(store.commit([.put("a3", "1"), .delete("a3"), .get("a2")]).isSuccess)
        #expect(store.base.quotaUsage.byteCounts == ["a": 10])
    }

    @Test func `a refusal of the whole store gives back what the quota had`() {
        var limits = StoreLimits.quotas(["a": 100])
        limits.byteCountMax = 10
        let store = Store(stripeCount: 4, limits: limits)
        #expect(store.put("b", 5).isSuccess)
        #expect(!store.put("a", 5).isSuccess)
        #expect(!store.commit([.put("a", "123"), .put("a2", "1")]).isSuccess)
        #expect(store.base.quotaUsage.byteCounts == ["a": 0])
        #expect(store.base.quotaUsage.refusalCounts == ["a": 0])
    }

    @Test func `prefixes are bytes, and characters can be equivalent and different`() {
        // One scalar, and two that are equivalent to it.
        let (one, two) = ("\u{E9}", "e\u{301}")
        let store = store([one: 10, two: 10, "\u{1F511}/": 12])
        #expect(store.put("\(one)x", 7).isSuccess)
        #expect(store.put("\(one)", 1).refusingPrefix.map { Array($0.utf8) } == Array(one.utf8))
        #expect(store.put("\(two)x", 6).isSuccess)
        #expect(store.put("\u{1F511}/1", 6).isSuccess)
        #expect(store.put("\u{1F511}/2", 1).refusingPrefix == "\u{1F511}/")
        #expect(store.put("\u{1F510}/2", 100).isSuccess, "the same first three bytes")
        #expect(store.base.quotaUsage.map(\.byteCount) == [10, 10, 12])
    }

    @Test func `a full quota refuses under lru, and removes nothing`() {
        var limits = StoreLimits.quotas(["a": 10])
        limits.eviction = .lru
        limits.propertyCountMax = 3
        let bench = JournaledBench(limits: limits)
        bench.put("b", "1")
        bench.put("a1", "1234567")
        #expect(bench.put("a2", "1").refusingPrefix == "a")
        #expect(bench.evictor.count == 0)
        // The bytes of evicted properties are given back to the quota.
        bench.put("c", "1")
        _ = bench.store.value("b")
        bench.put("d", "1")
        #expect(bench.store.value("a1") == nil)
        #expect(bench.base.quotaUsage.byteCounts == ["a": 0])
        bench.put("a3", "1")
        #expect(bench.base.quotaUsage.byteCounts == ["a": 3])
    }

    @Test func `an emptied stripe and an applied commit are counted`() throws {
        let store = store(["a": 100, "b": 100])
        let copy = Store(stripeCount: 2, limits: .quotas(["a": 5]))
        for steps in [
            [.put("a1", "1234"), .put("b1", "1")], [.put("a1", "12")], [.delete("b1")],
            [.put("a2", "123456")],
        ] as [[Change.Step]] {
            copy.apply(try store.commit(steps).get())
            #expect(
                copy.base.quotaUsage.byteCounts["a"] == store.base.quotaUsage.byteCounts["a"]
            )
        }
        #expect(copy.put("a1", 3).refusingPrefix == "a", "decided elsewhere with another bound")
        #expect(copy.put("a1", 1).isSuccess)
    }
}
