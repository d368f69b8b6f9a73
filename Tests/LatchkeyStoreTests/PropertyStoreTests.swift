import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The store under every strategy, from several threads at once.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct PropertyStoreTests {
    @Test(arguments: Depth.kinds)
    func `no increment is lost, and every commit has its own revision`(
        kind: StrategyKind
    ) throws {
        try countingConcurrently(kind)
    }

    @Test(arguments: Depth.kinds)
    func `a page shows one moment`(kind: StrategyKind) throws {
        try listingWhileWriting(kind)
    }

    @Test(arguments: Depth.kinds)
    func `pages follow each other without a gap`(kind: StrategyKind) throws {
        try paging(kind)
    }
}

/// Four threads count on seven names; one of them is everybody's.
private func countingConcurrently(_ kind: StrategyKind) throws {
    let store = BlockingStore(kind, stripeCount: 8)
    let threadCount = 4
    let stepCount = 500
    let haveEnded = TestThread.run(threadCount) { thread in
        for step in 0..<stepCount {
            store.increment("shared")
            store.increment("own/\(thread)/\(step % 3)")
        }
    }
    #expect(haveEnded)
    #expect(store.value("shared") == "\(threadCount * stepCount)")
    for thread in 0..<threadCount {
        let counts = (0..<3).compactMap { store.value("own/\(thread)/\($0)") }.compactMap(
            Int.init
        )
        #expect(counts.reduce(0, +) == stepCount)
    }
    #expect(store.base.usage.revision == UInt64(2 * threadCount * stepCount))
    #expect(store.base.usage.propertyCount == 1 + 3 * threadCount)
    #expect(store.base.backlogCount == 0)
}

/// One thread counts `a` and then `b`, over and over; they lie in different stripes.
///
/// At any one moment `a` is equal to `b` or one ahead.
private func listingWhileWriting(_ kind: StrategyKind) throws {
    let store = BlockingStore(kind, stripeCount: 16)
    let names = (0..<8).map { "p\($0)" }
    let isDone = Arrivals()
    TestThread {
        for _ in 0..<300 {
            for name in names { store.increment(name) }
        }
        isDone.arrive()
    }
    var pageCount = 0
    var lastRevision: Revision = 0
    var isWriting = true
    while isWriting {
        isWriting = isDone.value == 0
        let page = store.list(limit: 100)
        let counts = page.properties.compactMap { Int(store.text($0)) }
        let expected = Int(page.revision)
        #expect(
            counts.reduce(0, +) == expected,
            "every commit up to the revision, and no other"
        )
        #expect(counts == counts.sorted(by: >))
        #expect((counts.first ?? 0) - (counts.count == names.count ? counts.last ?? 0 : 0) <= 1)
        #expect(page.properties.allSatisfy { $0.revision <= page.revision })
        #expect(page.revision >= lastRevision)
        lastRevision = page.revision
        pageCount += 1
    }
    #expect(lastRevision == 2400)
    #expect(pageCount > 1)
}

private func paging(_ kind: StrategyKind) throws {
    let store = BlockingStore(kind, stripeCount: 4)
    var names = (0..<250).map { "a/\($0)" } + ["a", "a/", "b", "é", "日本"]
    for name in names.shuffled() { store.increment(name) }
    names.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    for limit in [1, 7, 250, 1000] {
        var found: [String] = []
        var after: String?
        repeat {
            let page = store.list(after: after, limit: limit)
            found += page.properties.map {
                unsafe String(decoding: $0.nameBytes, as: UTF8.self)
            }
            after = page.hasMore ? found.last : nil
            #expect(page.properties.count == limit || !page.hasMore)
        } while after != nil
        #expect(found == names)
    }
    let prefixed = store.list(prefix: "a/", after: "a/", limit: 1000)
    #expect(prefixed.properties.count == 250)
    #expect(store.list(prefix: "a/", after: "b", limit: 10).properties.isEmpty)
    #expect(store.list(prefix: "b", after: "a", limit: 10).properties.count == 1)
    #expect(store.list(prefix: "zz", limit: 10).properties.isEmpty)
}
