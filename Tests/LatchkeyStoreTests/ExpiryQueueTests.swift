import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Properties whose time is over: no read shows them, and a commit removes them.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ExpiryQueueTests {
    @Test(arguments: Depth.kinds)
    func `a property is not served after its time, and a commit removes it`(
        kind: StrategyKind
    ) {
        expiring(kind)
    }

    @Test func `properties are removed in the order of their times`() {
        let (count, seed) = (2000, UInt64(7))
        var random = SeededGenerator(seed)
        let bench = JournaledBench()
        for index in 0..<count {
            bench.put("n\(index)", ttl: .random(in: 1...20, using: &random))
        }
        bench.clock.advance(20)
        // Of each instant there are some, and fewer than 1,000.
        #expect(bench.journal.wait(for: Revision(count + 20)))
        let commits = bench.journal.all(after: Revision(count))
        #expect(commits.flatMap(\.effects).count == count)
        let times = commits.map { commit in
            Set(commit.effects.compactMap { $0.former?.expiry.milliseconds })
        }
        #expect(times == (1...20).map { [$0] }, "seed \(seed)")
        #expect(bench.base.usage.propertyCount == 0)
        #expect(bench.base.usage.byteCount == 0)
        #expect(bench.expiries.count == UInt64(count))
    }

    /// Each property that expires before all others sets the timer again; a timer for each of them
    /// would read the clock as often.
    @Test func `one timer serves all, however often it was set`() {
        let bench = JournaledBench()
        bench.put("late", ttl: 200)
        for round in 1...50 {
            bench.put("early", ttl: 1)
            bench.clock.advance(1)
            #expect(bench.journal.wait(for: Revision(1 + 2 * round)))
        }
        let before = bench.clock.reads.value
        #expect(bench.clock.reads.wait(for: before + 2))
        _ = Gate().staysClosed
        #expect(bench.clock.reads.value < before + 20)
    }

    @Test func `a removal that is refused for the backlog is tried again`() {
        let bench = RefusingBench(refusals: 7)
        for index in 0..<5 { bench.put("n\(index)", ttl: 2 + TimeToLive(index)) }
        bench.clock.advance(6)
        #expect(bench.full.removals.wait(for: 5))
        #expect(bench.store.base.usage.propertyCount == 0)
        #expect(bench.full.tries.value == 12)
    }

    /// The turn for the property that expires first has read the tables, and has not decided yet.
    @Test func `a property that is added during a turn is removed at its time`() {
        let bench = RefusingBench(refusals: 0)
        bench.full.beforeCommit.write { [bench] in
            $0 = { [clock = bench.clock] in
                bench.full.beforeCommit.write { $0 = nil }
                bench.put("added", ttl: 1)
                clock.advance(1)
            }
        }
        bench.put("first", ttl: 2)
        bench.put("late", ttl: 60_000)
        bench.clock.advance(2)
        #expect(bench.full.removals.wait(for: 2))
        #expect(bench.store.base.usage.propertyCount == 1)
        bench.clock.advance(60_000)
    }
}

/// A store whose expiry finds the backlog full for the first commits.
private struct RefusingBench {
    let clock = ManualClock()
    let expiries: ExpiryQueue
    let store: BlockingStore
    let full: FullStore

    init(refusals: Int) {
        store = BlockingStore(stripeCount: 4, clock: clock.clock)
        full = FullStore(store.base) { $0 <= refusals }
        expiries = ExpiryQueue(clock: clock.clock)
        expiries.start(store.base, by: full)
    }

    func put(_ name: String, ttl: TimeToLive) {
        if case .success(let commit) = store.commit(Change(.put(name, "1", ttl: ttl))) {
            expiries.note(commit)
        }
    }
}

private func expiring(_ kind: StrategyKind) {
    let bench = JournaledBench(kind)
    bench.put("a", ttl: 5)
    bench.put("b", "2", ttl: 8)
    bench.put("c")
    bench.clock.advance(4)
    #expect(bench.store.value("a") == "1")
    bench.clock.advance(1)
    #expect(bench.store.value("a") == nil, "at once, whether or not it is removed")
    #expect(bench.store.value("b") == "2")
    #expect(bench.store.list(limit: 10).properties.count == 2)
    #expect(bench.journal.wait(for: 4))
    bench.clock.advance(3)
    #expect(bench.journal.wait(for: 5))
    #expect(
        bench.story() == ["1 put a 1", "2 put b 2", "3 put c 1", "4 expired a", "5 expired b"]
    )
    #expect(bench.store.list(limit: 10).properties.count == 1)
    #expect(bench.base.usage.propertyCount == 1)
    #expect(bench.expiries.count == 2)
}

/// A store whose backlog is full for some commits.
final class FullStore: CommittingStore {
    private let base: PropertyStore
    private let isRefused: @Sendable (_ number: Int) -> Bool
    let tries = Arrivals()
    /// Called before a change is made.
    let beforeCommit = Guarded<(@Sendable () -> Void)?>(nil)
    /// Counts the effects of commits that were made.
    let removals = Arrivals()

    /// - Parameters:
    ///   - base: The store that makes the commits.
    ///   - isRefused: Whether a commit is refused; the first one has the number 1.
    init(_ base: PropertyStore, isRefused: @escaping @Sendable (_ number: Int) -> Bool) {
        self.base = base
        self.isRefused = isRefused
    }

    func commit(
        _ change: Change,
        attempt: Int,
        _ ask: Ask,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        tries.arrive()
        beforeCommit.read { $0 }?()
        guard !isRefused(tries.value) else { throw BacklogFull() }
        let counting = DecisionClosure { [removals] decision in
            receiver.receive(decision)
            if case .success(let commit) = decision {
                for _ in commit.effects { removals.arrive() }
            }
        }
        try base.commit(change, attempt: attempt, ask, receiver: counting)
    }

    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        _ ask: Ask,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try base.look(name, in: scope, ask, completion: completion)
    }

    func list(
        _ request: PageRequest,
        _ ask: Ask,
        completion: @escaping @Sendable (Page) -> Void
    ) {
        base.list(request, ask, completion: completion)
    }

    func snapshot(_ ask: Ask, completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        base.snapshot(ask, completion: completion)
    }
}
