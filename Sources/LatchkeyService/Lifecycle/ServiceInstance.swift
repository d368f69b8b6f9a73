internal import CLatchkeySystem
internal import LatchkeyContention
package import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeySync

/// A service that listens and serves, from its making to ``drain()``.
///
/// **Design.** The strategy is chosen once, by ``StateRoutes``: everything on a request's way to
/// the store is generic over it and compiled for each. What holds the pieces together here is not,
/// since it is used at start and at the end.
package final class ServiceInstance: Sendable {
    private let server: HTTPServer
    private let drainSeconds: Int

    /// The port that the service listens on.
    package var port: UInt16 { server.port }

    /// Starts to listen and to serve.
    package init(_ configuration: ServiceConfiguration) throws(HTTPServerError) {
        let log = Log(format: configuration.logFormat, level: configuration.logLevel)
        let registry = MetricRegistry()
        let board = ContentionBoard(Fingerprint.Context(configuration))
        let metrics = RequestMetrics(
            registry,
            sendsServerTiming: configuration.sendsServerTiming
        )
        var (table, usage) = configuration.strategy.accept(
            StateRoutes(
                configuration: configuration,
                board: board,
                table: RouteTable(metrics: metrics)
            )
        )
        OperatingRoutes(
            strategy: configuration.strategy,
            board: board,
            registry: registry,
            version: configuration.version
        ).add(to: &table)
        let router = table.router(hosts: AllowedHosts(configuration))
        let server = try HTTPServer(
            HTTPServerConfiguration(configuration),
            log: { log.write(.warning, $0) },
            head: { router.handleHead($0) },
            handle: { router.handle($0) }
        )
        self.server = server
        drainSeconds = configuration.drainSeconds
        board.register(in: registry)
        ServiceMetrics.register(server: server, usage: usage, in: registry)
        ProcessMetrics.register(in: registry)
    }

    /// Stops to listen, lets the requests in flight finish, and ends the service.
    ///
    /// Blocks for at most the configured time and a fraction of a second, unless the strategy keeps
    /// a thread that serves. Call it once.
    ///
    /// - Returns: how many requests were taken away unanswered, and how many answers were not sent
    ///   to their end, because the time was up.
    package func drain() -> (requestCount: Int, answerCount: Int) {
        server.stop(within: .seconds(drainSeconds))
    }
}

/// Makes the store under the chosen strategy, metered or not, and its routes.
private struct StateRoutes: StrategyVisitor {
    let configuration: ServiceConfiguration
    let board: ContentionBoard
    let table: RouteTable

    typealias Output = (table: RouteTable, usage: @Sendable () -> StoreUsage)

    func visit<Guard: NamedStrategy>(_ strategy: Guard.Type) -> Output {
        make(strategy, overhead: nil)
    }

    func visitBlocking<Guard: NamedStrategy & BlockingStrategy>(
        _ strategy: Guard.Type
    ) -> Output {
        let level = configuration.metering
        let overhead = level == .off ? nil : MeteringOverhead.measure(strategy, level: level)
        return make(strategy, overhead: overhead)
    }

    private func make<Guard: NamedStrategy>(
        _ strategy: Guard.Type,
        overhead: MeteringOverhead?
    ) -> Output {
        let backlogMax = configuration.backlogMax
        guard configuration.metering != .off else {
            return serve(store { Guard(backlogMax: backlogMax) })
        }
        let meter = ContentionMeter(strategy, level: configuration.metering)
        meter.overhead = overhead
        let store = store { meter.metered(Guard(backlogMax: backlogMax)) }
        meter.observeBacklog { store.backlogCount }
        board.add(meter)
        return serve(store)
    }

    private func store<Guard: Strategy>(_ strategy: () -> Guard) -> PropertyStore<Guard> {
        PropertyStore(
            limits: configuration.storeLimits,
            stripeCount: configuration.stripeCount(Guard.self),
            strategy: strategy
        )
    }

    private func serve<Guard: Strategy>(_ store: PropertyStore<Guard>) -> Output {
        var table = table
        let shadowed = ShadowedStore(base: store, shadows: shadows(of: store))
        PropertyRoutes(store: shadowed, depthMax: configuration.storeLimits.depthMax)
            .add(to: &table)
        ListRoutes(store: shadowed).add(to: &table)
        return (table, { store.usage })
    }

    private func shadows<Guard: Strategy>(of store: PropertyStore<Guard>) -> Shadows? {
        let stores = configuration.shadows.map { kind in
            kind.accept(
                ShadowMaker(configuration: configuration, board: board) { store.usage }
            )
        }
        return Shadows(
            stores,
            ShadowSampler(interval: configuration.shadowInterval),
            nanoseconds: { latchkey_system_nanoseconds() }
        )
    }
}

extension Fingerprint.Context {
    fileprivate init(_ configuration: ServiceConfiguration) {
        self.init(
            version: configuration.version,
            httpLibrary: "libmicrohttpd \(HTTPServer.libraryVersion)",
            httpThreads: configuration.usesThreadPerConnection
                ? "per-connection" : "event-loops:\(configuration.httpThreadCount)"
        )
    }
}

extension HTTPServerConfiguration {
    init(_ configuration: ServiceConfiguration) {
        self.init()
        host = configuration.host
        port = configuration.port
        threads =
            configuration.usesThreadPerConnection
            ? .perConnection : .eventLoops(configuration.httpThreadCount)
        connectionsMax = configuration.connectionCountMax
        connectionsPerAddressMax = configuration.connectionCountPerAddressMax
        targetBytesMax = configuration.targetByteCountMax
        headBytesMax = configuration.headerByteCountMax
        bodyBytesMax = configuration.bodyByteCountMax
        idleTimeout = .seconds(configuration.idleTimeoutSeconds)
        requestTimeout = .seconds(configuration.requestTimeoutSeconds)
        answerTimeout = .seconds(configuration.answerTimeoutSeconds)
        timeoutBody = String(decoding: Problem.requestTimeout.json(), as: UTF8.self)
        tooLargeBody = String(decoding: Problem.bodyTooLarge.json(), as: UTF8.self)
        malformedBody = String(decoding: Problem.malformedRequest.json(), as: UTF8.self)
        headTooLargeBody = String(decoding: Problem.headersTooLarge.json(), as: UTF8.self)
        drainingBody = String(decoding: Problem.draining.json(), as: UTF8.self)
        unknownBody = String(decoding: Problem.outcomeUnknown.json(), as: UTF8.self)
        lateBody = String(decoding: Problem.timedOut.json(), as: UTF8.self)
    }
}
