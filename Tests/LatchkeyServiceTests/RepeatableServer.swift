import LatchkeyGuards
import LatchkeyHTTP
import LatchkeyMetrics
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization

@testable import LatchkeyAccess
@testable import LatchkeyFrame
@testable import LatchkeyService
@testable import LatchkeyWatches

/// A server of properties whose commits the test releases, and of a route that the test scripts.
///
/// `POST /scripted` counts a run, waits for ``script`` if it is empty, and answers with its first
/// status. It decides no change.
final class RepeatableServer: Sendable {
    let server: HTTPServer
    /// Nil if `Idempotency-Key` is switched off.
    let repetition: Repetition?
    let hook: CommitHook
    let commits = Arrivals()
    let runs = Arrivals()
    let registry = MetricRegistry()
    let nanoseconds = TestClock()
    /// The hook, if it releases each commit that it receives.
    private let releasing = Synchronized<CommitHook?, LockStrategy>(nil)
    private let script = Synchronized<(statuses: [Int], waiting: [ServiceRequest]), LockStrategy>(
        ([], [])
    )

    init(
        _ kind: StrategyKind = .lock,
        hasStandingClock: Bool = false,
        limits: IdempotencyLimits = IdempotencyLimits()
    ) throws {
        let commits = commits
        let releasing = releasing
        hook = CommitHook { commit, _ in
            commits.arrive()
            releasing.read { $0 }?.release(through: commit.revision)
        }
        let clock = nanoseconds.timestamp
        repetition = Repetition(limits, clientShare: 1, registry, clock: clock)
        var table = RouteTable(
            metrics: RequestMetrics(
                registry,
                sendsServerTiming: true,
                answers: AnswerBudget(byteCountMax: 1 << 30)
            ),
            steps: Admission().steps(leader: nil, repetition: repetition)
        )
        let store = PropertyStore(
            limits: StoreLimits(),
            stripeCount: 1,
            guards: GuardSettings(kind),
            parts: StoreParts(hook: hook)
        )
        let history = HistoryRoutes(WatchedHistory(store, Journal(HistoryLimits())))
        PropertyRoutes(store: ServedProperties(store), depthMax: 64, history: history)
            .add(to: &table)
        let script = script
        let runs = runs
        table.add(.post, "/scripted", .change, needs: .nothing, statuses: [200]) {
            request,
            _ in
            runs.arrive()
            let status = script.write { script -> Int? in
                guard script.statuses.isEmpty else { return script.statuses.removeFirst() }
                script.waiting.append(request)
                return nil
            }
            if let status { Self.answer(request, status) }
        }
        let router = table.router(hosts: nil)
        var configuration = HTTPServerConfiguration()
        configuration.port = 0
        configuration.answerTimeout = Patience.duration
        configuration.hasStandingClock = hasStandingClock
        let unknown = Problem.outcomeUnknown.json()
        configuration.unknownBody = String(decoding: unknown, as: UTF8.self)
        server = try HTTPServer(configuration) { router.handle($0) }
    }

    deinit {
        server.stop(within: Patience.duration)
    }

    /// Releases each commit from now on, where one change follows the other.
    func holdNothingBack() {
        releasing.write { $0 = hook }
    }

    /// Answers the scripted requests with these statuses, in the order of their runs.
    func answer(_ statuses: [Int]) {
        let ready = script.write { script in
            script.statuses += statuses
            let count = min(script.statuses.count, script.waiting.count)
            let ready = zip(script.waiting, script.statuses).map { ($0, $1) }
            script.waiting.removeFirst(count)
            script.statuses.removeFirst(count)
            return ready
        }
        for (request, status) in ready { Self.answer(request, status) }
    }

    private static func answer(_ request: ServiceRequest, _ status: Int) {
        request.respond(HTTPStatus(rawValue: UInt16(status)), body: .bytes(Array("done".utf8)))
    }

    func ask(
        _ method: String,
        _ target: String,
        key: String? = nil,
        _ body: String? = nil
    ) throws -> HTTPAnswer {
        let headers = key.map { ["Idempotency-Key: \($0)"] } ?? []
        return try HTTPClient(port: server.port)
            .request(method, target, headers: headers, body: body.map { Array($0.utf8) })
    }

    /// Asks on a thread of its own.
    func askAside(_ method: String, _ target: String, key: String) -> Aside {
        Aside { try self.ask(method, target, key: key) }
    }

    /// Waits until this many requests have no answer yet, and their handlers have returned.
    func awaitSuspended(_ count: Int) -> Bool {
        eventually { server.statistics.suspended == count }
    }

    /// Lets time pass until this many requests were taken away in all.
    func passUntilTimedOut(_ count: Int) -> Bool {
        eventually {
            server.pass(.seconds(1))
            return server.statistics.timedOutTotal == count
        }
    }

    /// Waits until a metric has this value.
    func awaitMetric(_ name: String, _ value: String) -> Bool {
        eventually { metric(name) == value }
    }

    func metric(_ name: String) -> String? {
        let lines = String(decoding: registry.text(.text), as: UTF8.self).split(separator: "\n")
        return lines.first { $0.hasPrefix("\(name) ") }.map { String($0.dropFirst(name.count + 1)) }
    }
}

/// A clock that a test turns.
final class TestClock: Sendable {
    let now = Atomic<UInt64>(0)

    var read: @Sendable () -> UInt64 { { self.now.load(ordering: .relaxed) } }

    var timestamp: @Sendable () -> Timestamp {
        { Timestamp(milliseconds: Int64(self.now.load(ordering: .relaxed) / 1_000_000)) }
    }

    func advance(_ time: UInt64) { now.add(time, ordering: .relaxed) }
}

/// A request under way on a thread of its own.
struct Aside: Sendable {
    private let answer = Synchronized<Result<HTTPAnswer, any Error>?, LockStrategy>(nil)
    private let thread: TestThread

    init(_ ask: @escaping @Sendable () throws -> HTTPAnswer) {
        thread = TestThread { [answer] in
            let result = Result(catching: ask)
            answer.write { $0 = result }
        }
    }

    func get() throws -> HTTPAnswer? {
        thread.join()
        return try answer.read { $0 }?.get()
    }
}

extension PropertyStore {
    /// A store under `lock`, with one stripe.
    static func underLock(
        _ parts: StoreParts = StoreParts(),
        limits: StoreLimits = StoreLimits(),
        after revision: Revision = 0
    ) -> PropertyStore {
        PropertyStore(
            limits: limits,
            stripeCount: 1,
            guards: GuardSettings(.lock),
            after: revision,
            parts: parts
        )
    }
}

extension HistoryRoutes {
    /// The routes of a history, with few places for those who watch.
    init(
        _ watched: WatchedHistory,
        places: SharedPlaces = SharedPlaces(countMax: 10, clientCountMax: 10)
    ) {
        let hub = WatchHub(
            journal: watched.journal,
            limits: WatchLimits(),
            places: places,
            counters: WatchCounters(MetricRegistry()),
            answers: AnswerBudget(byteCountMax: 1 << 30)
        )
        self.init(watched: watched, hub: hub)
    }
}
