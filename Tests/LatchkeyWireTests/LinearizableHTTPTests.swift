import LatchkeyComparison
import LatchkeyFrame
import LatchkeyService
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Histories of requests at the same time have an order that explains all answers.
@Suite(.timeLimit(.minutes(10)), .serialized)
struct LinearizableHTTPTests {
    private static let clientCount = 6

    @Test(arguments: Deployment.allCases)
    func `answers over HTTP are those of one order`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            try Self.judge([site], count: 25, seed: 9)
        }
    }

    /// With one strategy the histories are those of the test above.
    @Test(.enabled(if: Depth.isDeep), arguments: Depth.draws)
    func `answers of each strategy are those of one order`(
        kind: StrategyKind,
        seed: UInt64
    ) async throws {
        try await Deployment.inProcess.serve(["--strategy", kind.rawValue]) { site in
            try Self.judge([site], count: 100, seed: seed)
        }
    }

    @Test(arguments: Depth.draws, [1, 128])
    func `answers while the strategy is switched are those of one order`(
        draw: (kind: StrategyKind, seed: UInt64),
        stripeCount: Int
    ) async throws {
        // One that does not block has one stripe.
        let kinds = StrategyKind.allCases.filter { stripeCount == 1 || $0.traits.blocksCaller }
        guard kinds.contains(draw.kind) else { return }
        let flags = ["--strategy", draw.kind.rawValue, "--stripes", "\(stripeCount)"]
        try await Deployment.inProcess.serve(flags) { site in
            let (isOver, switches) = (Arrivals(), Arrivals())
            let switcher = TestThread {
                do {
                    try Self.switchStrategies(at: site, kinds, draw.seed, switches, until: isOver)
                } catch {
                    Issue.record(error)
                }
            }
            let count = Depth.count(100, deep: 300)
            let outcome = Result {
                try Self.judge([site], count: count, seed: draw.seed) { request in
                    // However fast the clients are, there are nine switches among their requests.
                    switches.wait(for: 10 * request / count)
                }
            }
            isOver.arrive()
            #expect(switcher.join())
            try outcome.get()
            #expect(switches.value >= 9)
        }
    }

    /// Chooses another strategy again and again, and counts the switches.
    private static func switchStrategies(
        at site: Site,
        _ kinds: [StrategyKind],
        _ seed: UInt64,
        _ switches: Arrivals,
        until isOver: Arrivals
    ) throws {
        let client = try site.client()
        var random = SeededRandom(seed: seed)
        while isOver.value == 0 {
            let kind = try #require(kinds.randomElement(using: &random))
            let body = #"{"strategy": "\#(kind.rawValue)"}"#
            let answer = try client.request("PUT", "/v1/strategy", body: Array(body.utf8))
            try #require(answer.status == 200, "\(answer)")
            switches.arrive()
        }
    }

    @Test(arguments: Depth.isDeep ? Deployment.strategies : [.inProcess])
    func `answers of three replicas are those of one order`(way: Deployment) async throws {
        for seed in Depth.seeds {
            let cluster = try await offPool {
                let flags = ["--strategy", way.strategy, "--start-revision", "0"]
                let common = ["--port", "0", "--log-level", "error", "--drain-seconds", "5"]
                return try ClusterInProcess(common + flags, count: 3)
            }
            try await offPool {
                let sites = cluster.ports.map { Site(port: $0) }
                let query = "?consistency=linearizable"
                try Self.judge(sites, count: 25, seed: seed, query: query)
                try cluster.awaitSame()
                #expect(cluster.drain().isWritten)
            }
        }
    }

    /// Records a history, and looks for its order.
    private static func judge(
        _ sites: [Site],
        count: Int,
        seed: UInt64,
        query: String = "",
        before: @escaping @Sendable (_ request: Int) -> Void = { _ in }
    ) throws {
        let history = try record(sites, count: count, seed: seed, query: query, before: before)
        let outcome = ModelCheck.check(history, from: PropertyModel())
        #expect(outcome == .linearizable, "seed \(seed)")
        let isConcurrent = history.contains { one in
            history.contains { other in
                one.client < other.client && one.invokedAt < other.respondedAt
                    && other.invokedAt < one.respondedAt
            }
        }
        #expect(isConcurrent, "requests were under way at the same time")
    }

    @Test(arguments: Depth.seeds)
    func `a read that is too old is found in a long history`(seed: UInt64) async throws {
        try await Deployment.inProcess.serve { site in
            var history = try Self.record([site], count: 30, seed: seed)
            #expect(ModelCheck.check(history, from: PropertyModel()) == .linearizable)
            // The last read of a property that was changed afterwards, once more at the end.
            let reads = history.sorted { $0.respondedAt < $1.respondedAt }.filter { observed in
                guard case .get(let name) = observed.operation.request,
                    let revision = observed.operation.answer.revision
                else { return false }
                return history.contains { other in
                    guard case .put(name, _, _) = other.operation.request else { return false }
                    return other.operation.answer.revision ?? 0 > revision
                }
            }
            let stale = try #require(reads.last)
            let end = history.map(\.respondedAt).max() ?? 0
            history.append(
                Observed(
                    client: 0,
                    stale.operation,
                    invokedAt: end + 1,
                    respondedAt: end + 2
                )
            )
            guard case .violated = ModelCheck.check(history, from: PropertyModel()) else {
                Issue.record("the stale read was not found, seed \(seed)")
                return
            }
        }
    }

    @Test(arguments: Depth.seeds)
    func `one wrong value is found in a long history`(seed: UInt64) async throws {
        try await Deployment.inProcess.serve { site in
            let history = try Self.record([site], count: 20, seed: seed)
            for (index, observed) in history.enumerated() {
                var operation = observed.operation
                guard case .some(.some) = operation.answer.found.last else { continue }
                operation.answer.found[operation.answer.found.count - 1]?.value += 1
                var lie = history
                lie[index] = Observed(
                    client: observed.client,
                    operation,
                    invokedAt: observed.invokedAt,
                    respondedAt: observed.respondedAt
                )
                guard case .violated = ModelCheck.check(lie, from: PropertyModel()) else {
                    Issue.record("seed \(seed): \(operation)")
                    return
                }
            }
        }
    }

    @Test func `possible histories are distinguished from impossible ones`() {
        let put = Self.operation(.put("a", 1, ifRevision: nil), 201, revision: 1)
        let both = Self.operation(
            .transaction("c", revision: 0, then: [.put("a", 5), .put("b", 5)], otherwise: []),
            200,
            revision: 1,
            found: [
                .init(value: 0, revision: 1, created: 1), .init(value: 0, revision: 1, created: 1),
            ]
        )
        let five = PropertyModel.Property(value: 5, revision: 1, created: 0)
        let hasA = Self.operation(.get("a"), 200, revision: 1, found: [five])
        let noA = Self.operation(.get("a"), 404)
        let noB = Self.operation(.get("b"), 404)
        let one = PropertyModel.Property(value: 1, revision: 1, created: 0)
        let first = Self.operation(.increment("a"), 200, revision: 1, found: [one])
        let failed = Self.operation(.put("a", 2, ifRevision: 0), 412)
        // The clients, their operations, and the instants between which each one was.
        let possible: [[(Int, PropertyModel.Operation, Int, Int)]] = [
            [(0, put, 1, 4), (1, noA, 2, 3)],
            [(0, both, 1, 6), (1, noB, 2, 3), (1, hasA, 4, 5)],
            [(0, put, 1, 4), (1, failed, 2, 3)],
        ]
        let impossible: [[(Int, PropertyModel.Operation, Int, Int)]] = [
            [(0, put, 1, 2), (1, noA, 3, 4)],
            [(0, both, 1, 6), (1, hasA, 2, 3), (1, noB, 4, 5)],
            [(0, first, 1, 3), (1, first, 2, 4)],
            [(0, failed, 1, 2), (1, put, 3, 4)],
        ]
        for (histories, isPossible) in [(possible, true), (impossible, false)] {
            for history in histories {
                let outcome = ModelCheck.check(
                    history.map { Observed(client: $0, $1, invokedAt: $2, respondedAt: $3) },
                    from: PropertyModel()
                )
                #expect((outcome == .linearizable) == isPossible, "\(history)")
                #expect(outcome != .undecided)
            }
        }
    }

    private static func operation(
        _ request: PropertyModel.Request,
        _ status: Int,
        revision: Int? = nil,
        found: [PropertyModel.Property?] = []
    ) -> PropertyModel.Operation {
        PropertyModel.Operation(
            request: request,
            answer: PropertyModel.Answer(status: status, revision: revision, found: found)
        )
    }

    /// Records the requests and answers of several clients at once, each with this many requests to
    /// one of the sites.
    ///
    /// Each calls `before` with the number of its next request.
    private static func record(
        _ sites: [Site],
        count: Int,
        seed: UInt64,
        query: String = "",
        before: @escaping @Sendable (_ request: Int) -> Void = { _ in }
    ) throws -> [Observed<PropertyModel.Operation>] {
        let clock = RecordingClient.Count()
        let histories = Synchronized<[Observed<PropertyModel.Operation>], LockStrategy>([])
        let ended = TestThread.run(clientCount) { number in
            do {
                let client = try RecordingClient(
                    sites[number % sites.count],
                    number: number,
                    count: clock,
                    seed: seed,
                    query: query
                )
                for request in 0..<count {
                    before(request)
                    try client.run()
                }
                let history = client.history
                histories.write { $0 += history }
            } catch {
                Issue.record(error)
            }
        }
        #expect(ended)
        return histories.read { $0 }
    }
}
