import Dispatch
import LatchkeyGuards
import LatchkeyHTTP
import LatchkeyMetrics
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService
@testable import LatchkeyStore
@testable import LatchkeyWatches

/// Past values over HTTP, with a clock that the test sets, and pieces of the history.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct PastValueTests {
    /// An expired property that was not yet removed was 404, and 200 again when it was.
    @Test func `the past never changes, issue 17`() throws {
        let bench = try PastBench()
        try unsafe bench.commit(.put(.named("n"), value: bench.one, ttl: 10))
        try unsafe bench.commit(.put(.named("other"), value: bench.one))
        #expect(try bench.status(1) == 200)
        bench.milliseconds.now.store(10, ordering: .releasing)
        #expect(try bench.status(1) == 200, "its time is over, and no commit removed it")
        #expect(try bench.status(2) == 200)
        #expect(try bench.ask("/v1/properties/n").status == 404)
        try bench.commit(.expire(.named("n"), at: 1))
        #expect(try bench.status(1) == 200)
        #expect(try bench.status(2) == 200)
        #expect(try bench.status(3) == 404)
    }

    @Test func `a long history is read in pieces, issue 17`() throws {
        let journal = Journal(HistoryLimits())
        let one = OwnedBytes(Array("1".utf8))
        for revision in 1...1000 {
            let former = unsafe Property(name: .named("n\(revision)"), value: one.bytes)
            let effect = Commit.Effect(from: former, to: nil, .requested)
            journal.append(
                Commit(
                    revision: Revision(revision),
                    time: Timestamp(milliseconds: 0),
                    first: effect
                )
            )
        }
        var page = ChangePage(after: 0, latest: 1000, limit: 10)
        var search = PastValue(.named("none"), asOf: 1).from(nil, latest: 1000)
        var counts = (page: 0, search: 0)
        let filter = WatchFilter.prefix(Array("zzz".utf8))
        while case .more = page.read(journal, filter) {
            counts.page += 1
        }
        while case .more = search.read(journal) {
            counts.search += 1
        }
        #expect(page.next == 1000)
        #expect(counts.page == 1000 / Journal.pieceCommitCount)
        #expect(counts.search == 1 + 999 / Journal.pieceCommitCount)
    }

    /// The queue of the history is held up, so that no scan ends meanwhile.
    @Test func `a scan of the history leaves the thread that serves, issue 17`() throws {
        let bench = try PastBench()
        for _ in 0..<2000 { try bench.commit(.increment(.named("n"), by: 1)) }
        for (target, status) in [
            ("/v1/changes?prefix=zzz", 200), ("/v1/properties/none?revision=1", 404),
        ] {
            let isFree = DispatchSemaphore(value: 0)
            bench.watched.later { isFree.wait() }
            let scan = Aside { try bench.ask(target) }
            #expect(eventually { bench.server.statistics.suspended == 1 })
            #expect(try bench.ask("/v1/properties/n").text == "2000", "one thread serves")
            isFree.signal()
            #expect(try scan.get()?.status == status)
        }
        let page = try bench.ask("/v1/changes?prefix=zzz").text
        #expect(page == #"{"revision":2000,"changes":[],"next":2000,"hasMore":false}"#)
    }
}

/// A server of properties that no timer removes.
private final class PastBench: Sendable {
    let server: HTTPServer
    let milliseconds = TestClock()
    private let value = OwnedBytes(Array("1".utf8))
    let watched: WatchedHistory
    private let store: PropertyStore

    var one: UnsafeRawBufferPointer { unsafe value.bytes }

    init() throws {
        let clock = milliseconds
        let journal = Journal(HistoryLimits())
        store = PropertyStore(
            limits: StoreLimits(),
            stripeCount: 2,
            guards: GuardSettings(.lock),
            clock: StoreClock {
                Timestamp(milliseconds: Int64(clock.now.load(ordering: .acquiring)))
            },
            parts: StoreParts(journal: journal)
        )
        let registry = MetricRegistry()
        var table = RouteTable(
            metrics: RequestMetrics(
                registry,
                sendsServerTiming: false,
                answers: AnswerBudget(byteCountMax: 1 << 30)
            )
        )
        watched = WatchedHistory(store, journal)
        let history = HistoryRoutes(watched)
        history.add(to: &table)
        PropertyRoutes(store: ServedProperties(store), depthMax: 64, history: history)
            .add(to: &table)
        let router = table.router(hosts: nil)
        var configuration = HTTPServerConfiguration()
        configuration.port = 0
        configuration.eventLoopCount = 1
        server = try HTTPServer(configuration) { router.handle($0) }
    }

    func commit(_ change: Change) throws {
        let decision = Synchronized<Decision?, LockStrategy>(nil)
        try store.commit(change, .here()) { made in decision.write { $0 = made } }
        _ = try decision.read { $0 }?.get()
    }

    func ask(_ target: String) throws -> HTTPAnswer {
        try HTTPClient(port: server.port).request("GET", target)
    }

    func status(_ revision: Int) throws -> Int {
        try ask("/v1/properties/n?revision=\(revision)").status
    }
}
