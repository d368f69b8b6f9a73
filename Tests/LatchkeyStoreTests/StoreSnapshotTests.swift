import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// All properties as of one revision, while and after others write.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct StoreSnapshotTests {
    @Test(arguments: Depth.kinds)
    func `a snapshot has one revision while writers go on`(kind: StrategyKind) {
        TakingWhileWriting().run(kind)
    }

    /// A ratio of two times, each the shortest of twenty: a page of 1,000 names held the stripes
    /// while it was made.
    @Test func `a long page holds the stripes no longer than a short one, issue 17`() {
        let store = BlockingStore(stripeCount: 8)
        for number in 0..<4000 { store.increment("n\(number)") }
        func hold(_ limit: Int) -> UInt64 {
            let request = PageRequest(prefix: OwnedBytes([]), after: nil, limit: limit)
            return (0..<20).map { _ in
                let timing = AccessTiming()
                let page = store.wait {
                    store.base.list(request, Ask(at: CallSite(), timing: timing), completion: $0)
                }
                #expect(page.properties.count == limit)
                return timing.holdNanoseconds
            }.min() ?? 0
        }
        let (short, long) = (hold(1), hold(1000))
        #expect(long < 4 * short, "\(long) ns beside \(short) ns")
    }

    @Test func `few properties are those of a prefix with few names, expired ones included`() {
        let bench = JournaledBench()
        for number in 1...3 { bench.put("n\(number)", "12", ttl: number == 2 ? 60_000 : nil) }
        func few(_ countMax: Int, _ byteCountMax: Int) -> [String]? {
            let prefix = OwnedBytes(Array("n".utf8))
            let snapshot = bench.store.snapshot()
            return snapshot.few(prefix: prefix, countMax: countMax, byteCountMax: byteCountMax)?
                .map { PropertyName(of: $0).text }
        }
        #expect(few(3, 12) == ["n1", "n2", "n3"])
        #expect(few(2, 12) == nil && few(3, 11) == nil)
    }

    @Test(arguments: Depth.kinds)
    func `later writes do not disturb a snapshot`(kind: StrategyKind) {
        writingAfterwards(kind)
    }
}

/// Two writers count all names in each commit: so each value is the revision, at every revision.
private struct TakingWhileWriting {
    private static let names = (0..<24).map { "n\($0)" }

    func run(_ kind: StrategyKind) {
        let bench = JournaledBench(kind)
        let writers = Arrivals()
        let torn = Arrivals()
        let ended = TestThread.run(3) { thread in
            guard thread == 2 else {
                let names = thread == 0 ? Self.names : Self.names.reversed()
                for _ in 0..<60 {
                    _ = bench.store.commit(names.map { .increment($0) })
                }
                writers.arrive()
                return
            }
            var latest: Revision = 0
            while writers.value < 2 {
                let snapshot = bench.store.snapshot()
                let found = bench.store.texts(snapshot)
                let expected = Self.names.sorted().map { "\($0)=\(snapshot.revision)" }
                if snapshot.revision < latest || (snapshot.revision > 0 && found != expected) {
                    torn.arrive()
                }
                latest = snapshot.revision
            }
        }
        #expect(ended)
        #expect(torn.value == 0)
        #expect(bench.store.snapshot().revision == 120)
    }
}

private func writingAfterwards(_ kind: StrategyKind) {
    let bench = JournaledBench(kind)
    // More than the 512 references that a write copies.
    let names = (1000..<1700).map { "n\($0)" }
    for name in names { bench.put(name) }
    bench.put("mortal", ttl: 5)
    let snapshot = bench.store.snapshot()
    let before = bench.store.texts(snapshot)
    #expect(before == ["mortal=1"] + names.map { "\($0)=1" })
    for (index, name) in names.enumerated() {
        switch index % 3 {
        case 0: bench.put(name, "2")
        case 1: bench.store.delete(name)
        default: bench.put("new " + name)
        }
    }
    bench.clock.advance(5)
    #expect(bench.journal.wait(for: Revision(2 * names.count + 2)))
    #expect(snapshot.revision == Revision(names.count + 1))
    #expect(bench.store.texts(snapshot) == before, "also the one that has expired since")
    #expect(
        bench.store.texts(snapshot, prefix: "n169", after: "n1697") == [
            "n1698=1", "n1699=1",
        ]
    )
    #expect(bench.store.texts(bench.store.snapshot()).count == names.count)
    // A property whose time is over when the snapshot is taken is not in it.
    bench.put("mortal", ttl: 1)
    bench.clock.advance(1)
    #expect(bench.store.texts(bench.store.snapshot(), prefix: "mortal").isEmpty)
}

extension BlockingStore {
    fileprivate func texts(
        _ snapshot: StoreSnapshot,
        prefix: String = "",
        after: String? = nil
    ) -> [String] {
        snapshot.walk(
            prefix: OwnedBytes(Array(prefix.utf8)),
            after: after.map { OwnedBytes(Array($0.utf8)) }
        ).map { "\(PropertyName(of: $0).text)=\(text($0))" }
    }
}
