import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Properties that expire at one instant: the commits that remove them, and what those leave alone.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ExpiryGroupTests {
    @Test(arguments: Depth.kinds)
    func `12,000 names that expire at once take a few commits, and no place of other names`(
        kind: StrategyKind
    ) {
        expiringAtOnce(kind)
    }

    /// 0.1 knows no other form of an expiry.
    @Test func `by the first rules each property is removed by a commit of its own`() {
        let bench = JournaledBench(rules: .first)
        for name in ["b", "a", "c"] { bench.put(name, ttl: 2) }
        bench.clock.advance(2)
        #expect(bench.journal.wait(for: 6))
        #expect(bench.story(after: 3) == ["4 expired a", "5 expired b", "6 expired c"])
    }

    @Test func `a property that was replaced, is not over, or is gone is not changed or used`()
        throws
    {
        let bench = JournaledBench(limits: .evicting())
        bench.put("replaced", ttl: 3)
        bench.put("over", ttl: 3)
        bench.put("replaced", "2", ttl: 3)
        bench.put("late", ttl: 9)
        let use = bench.store.stored("late")?.lastUse
        let names: [(String, Revision)] = [("gone", 1), ("late", 4), ("over", 2), ("replaced", 1)]
        let change = Change.expire(names.map { (.owning($0), $1) })
        let time = Timestamp(milliseconds: 5)
        let store = BlockingStore(bench.base)
        let commit = try store.execute(change, at: time).get()
        #expect(commit.effects.map { PropertyName(of: $0.some).text } == ["over"])
        #expect(commit.effects.map(\.reason) == [.expired] && commit.revision == 5)
        let again = try store.execute(change, at: time).get()
        #expect(again.isEmpty && bench.base.usage.revision == 5)
        #expect(bench.base.usage.propertyCount == 2)
        #expect(bench.store.stored("late")?.lastUse == use)
    }

    @Test func `an expiry is not bounded by units of work`() throws {
        var limits = StoreLimits()
        limits.changeUnitsMax = 1
        let bench = JournaledBench(limits: limits)
        for index in 0..<10 { bench.put("n\(index)", ttl: 3) }
        bench.clock.advance(3)
        #expect(bench.journal.wait(for: 11))
        #expect(bench.base.usage.propertyCount == 0)
    }

    @Test func `the binary form has 1,000 names at most, and nothing else beside them`() throws {
        func expiry(_ count: Int) -> Change {
            .expire((0..<count).map { (.owning("n\($0)"), 1) })
        }
        let bytes = expiry(1000).encoded()
        #expect(try Change(decoding: bytes).encoded() == bytes)
        let invalid = [expiry(1001), .transaction(Transaction(expiry(2).steps + [.get("a")]))]
        for change in invalid + [.transaction(Transaction([.get("a")] + expiry(2).steps))] {
            #expect(throws: InvalidChange()) { try Change(decoding: change.encoded()) }
        }
        for (count, isRead) in [(1, true), (2, false)] {
            var reader = BinaryReader(OwnedBytes(expiry(count).encoded()))
            let change = try? Change(decoding: &reader, rules: .first)
            #expect((change != nil) == isRead, "\(count)")
        }
    }
}

private func expiringAtOnce(_ kind: StrategyKind) {
    let bench = JournaledBench(kind)
    let count = 12_000
    let names = (0..<count).map { "limits/\($0)" }
    for name in names.shuffled() { bench.put(name, ttl: 50) }
    bench.put("orders/a")
    let place = bench.journal.last
    bench.put("orders/b")
    bench.clock.advance(50)
    #expect(bench.journal.wait(for: place + 13))
    let commits = bench.journal.all(after: place + 1)
    #expect(commits.map { $0.effects.count } == Array(repeating: 1000, count: 12))
    let expired = commits.flatMap(\.effects).map { PropertyName(of: $0.some).text }
    #expect(expired == names.sorted())
    #expect(bench.expiries.count == UInt64(count))
    #expect(bench.journal.oldest == 0, "the puts are still there")
}

extension BlockingStore {
    /// The property, without a use of it.
    fileprivate func stored(_ name: String) -> Property? {
        wait { (completion) throws(BacklogFull) in
            try base.look(
                .owning(name),
                in: .stored,
                .here(),
                completion: completion
            )
        }
    }
}
