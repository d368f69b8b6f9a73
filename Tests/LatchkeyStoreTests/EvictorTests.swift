import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Properties that are removed when the store is full, and those that are not.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct EvictorTests {
    @Test(arguments: Depth.kinds)
    func `the least recently used property is removed first`(kind: StrategyKind) {
        usingInOrder(kind)
    }

    @Test(arguments: Depth.kinds)
    func `writers at the bound never exceed it and are never refused`(kind: StrategyKind) {
        writingAtTheBound(kind)
    }

    @Test func `a value that can never fit removes nothing`() {
        let bench = JournaledBench(limits: .evicting(properties: 6, bytes: 100))
        for name in ["a", "b", "c", "d", "e"] { bench.put(name, "123456789") }
        let large = bench.put("a", String(repeating: "1", count: 100))
        #expect(Outcome(large) == .refused(.full(.bytes(shortage: nil))))
        let many = bench.store.commit((0..<7).map { .put("n\($0)", "1") })
        #expect(Outcome(many) == .refused(.full(.properties(shortage: nil))))
        #expect(bench.evictor.count == 0)
        #expect(bench.base.usage == StoreUsage(revision: 5, propertyCount: 5, byteCount: 50))
        // A value of the whole room fits, and everything else is removed.
        #expect(Outcome(bench.put("a", String(repeating: "1", count: 99))) == .replaced(10))
        #expect(bench.base.usage == StoreUsage(revision: 10, propertyCount: 1, byteCount: 100))
    }

    /// The backlog refuses the removal, or the change itself after the removal.
    @Test(arguments: [1, 2])
    func `a full backlog is no full store, issue 17`(refusedCommit: Int) {
        let evictor = Evictor()
        let base = PropertyStore(
            limits: .evicting(properties: 2),
            stripeCount: 4,
            guards: GuardSettings(.lock),
            parts: StoreParts(evictor: evictor)
        )
        let full = FullStore(base) { $0 == 3 + refusedCommit }
        evictor.start(full)
        let store = BlockingStore(base, through: full)
        _ = store.commit([Change.Step.put("a", "1")])
        _ = store.commit([Change.Step.put("b", "1")])
        // Commit 3 is refused for lack of room, 4 removes a property, 5 is made again.
        let decision = store.commit([Change.Step.put("c", "1")])
        #expect(Outcome(decision) == .refused(.backlogFull))
        #expect(base.usage.propertyCount == 3 - refusedCommit)
        #expect(Outcome(store.commit([Change.Step.put("c", "1")])) == .created(4))
    }

    /// Each removal follows the one before it: they must not pile up on the stack.
    @Test func `one large value takes the room of very many small ones`() {
        let count = 20_000
        let limits = StoreLimits.evicting(properties: count, bytes: 6 * count)
        let bench = JournaledBench(limits: limits)
        for index in 10_000..<10_000 + count { bench.put("\(index)", "1") }
        #expect(bench.base.usage.byteCount == 6 * count)
        let value = "\"" + String(repeating: "1", count: 6 * count - 10) + "\""
        #expect(Outcome(bench.put("large", value)) == .created(Revision(2 * count + 1)))
        #expect(bench.evictor.count == UInt64(count))
    }
}

private func usingInOrder(_ kind: StrategyKind) {
    let bench = JournaledBench(kind, limits: .evicting(properties: 4))
    for name in ["a", "b", "c", "d"] { bench.put(name) }
    _ = bench.store.property("a")
    bench.put("e")
    #expect(bench.story(after: 4) == ["5 evicted b", "6 put e 1"])
    // A read, a step of a transaction that only reads, and a write: only `a` is not used.
    _ = bench.store.property("c")
    _ = bench.store.commit(Change.transaction(Transaction([.get("d")])))
    bench.store.increment("e")
    bench.put("f")
    #expect(bench.story(after: 7) == ["8 evicted a", "9 put f 1"])
    _ = bench.store.commit([.put("g", "1"), .put("h", "1"), .delete("e")])
    #expect(
        bench.story(after: 9).sorted() == [
            "10 evicted c", "11 deleted e", "11 put g 1", "11 put h 1",
        ]
    )
    #expect(bench.evictor.count == 3)
    #expect(bench.base.usage.propertyCount == 4)
}

/// Threads put properties of different lengths, while another one watches the limits.
private func writingAtTheBound(_ kind: StrategyKind) {
    let limits = StoreLimits.evicting(properties: 20, bytes: 300)
    let bench = JournaledBench(kind, limits: limits)
    let writers = Arrivals()
    let (refused, exceeded) = (Arrivals(), Arrivals())
    let threadCount = 4
    let ended = TestThread.run(threadCount + 1) { thread in
        guard thread < threadCount else {
            while writers.value < threadCount {
                let usage = bench.base.usage
                if usage.propertyCount > 20 || usage.byteCount > 300 {
                    exceeded.arrive()
                }
            }
            return
        }
        for step in 0..<60 {
            let value = String(repeating: "1", count: 1 + step * 7 % 30)
            if case .failure = bench.put("\(thread)/\(step % 45)", value) {
                refused.arrive()
            }
        }
        writers.arrive()
    }
    #expect(ended)
    #expect(refused.value == 0)
    #expect(exceeded.value == 0)
    #expect(bench.journal.wait(for: bench.base.usage.revision))
    bench.expectBoundsInEachCommit(limits)
}

extension JournaledBench {
    /// Adds up what the commits of the journal do.
    fileprivate func expectBoundsInEachCommit(_ limits: StoreLimits) {
        var used = StoreSize()
        for effect in journal.all().flatMap(\.effects) {
            used.propertyCount += StoreSize(effect.property).propertyCount
            used.propertyCount -= StoreSize(effect.former).propertyCount
            used.byteCount += StoreSize(effect.property).byteCount
            used.byteCount -= StoreSize(effect.former).byteCount
        }
        #expect(used.propertyCount == base.usage.propertyCount)
        #expect(used.byteCount == base.usage.byteCount)
        let listed = store.list(limit: 1000).properties
        #expect(listed.count == used.propertyCount)
        #expect(listed.reduce(0) { $0 + $1.byteCount } == used.byteCount)
    }
}
