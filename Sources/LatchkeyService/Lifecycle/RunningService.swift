internal import CLatchkeySystem
internal import LatchkeyContention
package import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyMetrics
internal import LatchkeyOperations
internal import LatchkeyStore
internal import LatchkeyStrategies

/// A service that listens and serves, from its initialiser to ``drain()``.
///
/// **Design.** ``StoreRouteMaker`` chooses the strategy once. From ``ServedStore`` on, the path of a
/// request is generic over the strategy and is compiled for each one. All else is compiled once.
///
/// A process has one service. Its parts refer to each other in cycles (the metrics to the server,
/// the server to the routes, these to the metrics and the store), so they are freed with the
/// process. All are made at start, so what is kept does not grow.
package final class RunningService: Sendable {
    private let server: HTTPServer
    private let watches: WatchHub
    private let operations: Operations
    private let profiles: ProfileWindows
    private let memory = FreeMemory()
    private let drainTime: Duration

    /// The port that the service listens on.
    package var port: UInt16 { server.port }

    /// Starts to listen and serve.
    ///
    /// - Parameters:
    ///   - configuration: The choices.
    ///   - recorder: Records the operations, if there is one.
    /// - Throws: ``HTTPServerError`` if the service cannot listen.
    package init(
        _ configuration: ServiceConfiguration,
        recorder: TraceRecorder? = nil
    ) throws(HTTPServerError) {
        let log = Log(format: configuration.logFormat, level: configuration.logLevel)
        let registry = MetricRegistry()
        let meters = ContentionMeters()
        let context = Fingerprint.Context(configuration)
        let answers = configuration.answerBudget
        let journal = Journal(configuration.historyLimits, after: configuration.chosenStart)
        let expiries = ExpiryQueue()
        let evictor = Evictor()
        let profile = configuration.isProfiling ? ContentionProfile() : nil
        let watches = WatchHub(
            journal: journal,
            limits: configuration.watchLimits,
            places: configuration.watchPlaces(registry),
            counters: WatchCounters(registry),
            answers: answers
        )
        var limited = configuration
        limited.storeLimits.valueByteCountMax = configuration.http.bodyBytesMax
        var (table, usage, operations) = configuration.strategy.accept(
            StoreRouteMaker(
                configuration: limited,
                meters: meters,
                profile: profile,
                journal: journal,
                expiries: expiries,
                evictor: evictor,
                watches: watches,
                recorder: recorder,
                exports: configuration.exportPlaces(registry),
                table: configuration.table(registry, answers)
            )
        )
        profiles = ProfileWindows()
        ProfileRoutes(profile: profile, windows: profiles).add(to: &table)
        OperatingRoutes(
            strategy: configuration.strategy,
            meters: meters,
            profile: profile,
            registry: registry,
            context: context
        ).add(to: &table)
        let router = configuration.router(table)
        let server = try HTTPServer(
            configuration.http.withProblemBodies,
            log: { log.write(.warning, $0) },
            head: { router.handleHead($0) },
            handle: { router.handle($0) }
        )
        self.server = server
        self.watches = watches
        drainTime = configuration.drainTime
        meters.register(in: registry)
        ServiceMetrics.register(
            server: server,
            answers: answers,
            usage: usage,
            evictor: evictor,
            expiries: expiries,
            in: registry
        )
        WatchMetrics.register(journal: journal, watches: watches, in: registry)
        self.operations = operations
        OperationMetrics.register(operations, in: registry)
        ProcessMetrics.register(in: registry, version: context.version)
    }

    /// Stops listening, lets the requests in flight finish, and ends the service.
    ///
    /// Blocks for at most the configured time and a fraction of a second, unless the strategy
    /// blocks a thread that serves. Call it once.
    ///
    /// - Returns: How many requests and how many answers were cut off because the time was over.
    package func drain() -> (requestCount: Int, answerCount: Int) {
        watches.drain()
        profiles.drain()
        memory.end()
        defer { watches.stop() }
        // Before the server stops, so that streams of events still get the last one.
        operations.drain(within: min(drainTime, .milliseconds(200)))
        return server.stop(within: drainTime)
    }
}

/// Makes the store under the chosen strategy, with or without a meter, and its routes.
private struct StoreRouteMaker: StrategyVisitor {
    let configuration: ServiceConfiguration
    let meters: ContentionMeters
    let profile: ContentionProfile?
    let journal: Journal
    let expiries: ExpiryQueue
    let evictor: Evictor
    let watches: WatchHub
    let recorder: TraceRecorder?
    let exports: SharedPlaces
    let table: RouteTable

    typealias Output = (
        table: RouteTable, usage: @Sendable () -> StoreUsage, operations: Operations
    )

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Output {
        make(strategy, overhead: nil)
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Output {
        let level = configuration.metering
        let overhead = level == .off ? nil : MeteringOverhead.measure(strategy, level: level)
        return make(strategy, overhead: overhead)
    }

    private func make<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type,
        overhead: MeteringOverhead?
    ) -> Output {
        let backlogMax = configuration.backlogMax
        guard configuration.metering != .off else {
            return serve(store { ChosenStrategy(backlogMax: backlogMax) })
        }
        let meter = ContentionMeter(strategy, level: configuration.metering, profile: profile)
        meter.overhead = overhead
        let store = store { meter.meteredStripe(ChosenStrategy(backlogMax: backlogMax)) }
        meter.observeBacklog { store.backlogCount }
        meters.add(meter)
        return serve(store)
    }

    private func store<ChosenStrategy: Strategy>(
        _ strategy: () -> ChosenStrategy
    ) -> PropertyStore<ChosenStrategy> {
        PropertyStore(
            limits: configuration.storeLimits,
            stripeCount: configuration.stripeCount(ChosenStrategy.self),
            strategy: strategy,
            after: journal.start
        )
    }

    /// All that is compiled for the strategy: few closures, which the rest uses.
    private func serve<ChosenStrategy: Strategy>(_ store: PropertyStore<ChosenStrategy>) -> Output {
        let usage = { @Sendable in store.usage }
        let journaled = JournaledStore(
            store,
            journal: journal,
            expiries: expiries,
            evictor: configuration.storeLimits.eviction == .lru ? evictor : nil
        )
        let serving = SampledStore(
            base: journaled,
            shadows: shadows(usage),
            recorder: recorder
        )
        let watched = WatchedStore(
            journal: journal,
            usage: usage,
            look: { (name, scope, completion) throws(BacklogFull) in
                let observer = TimingObserver(timing: nil, site: CallSite())
                try journaled.look(name, in: scope, observer: observer, completion: completion)
            },
            snapshot: { journaled.snapshot(completion: $0) }
        )
        return serve(ServedStore(serving), watched)
    }

    private func serve(_ serving: ServedStore, _ watched: WatchedStore) -> Output {
        var table = table
        let depthMax = configuration.storeLimits.depthMax
        let history = HistoryRoutes(store: watched, hub: watches)
        PropertyRoutes(store: serving, depthMax: depthMax, history: history).add(to: &table)
        TransactionRoutes(store: serving, depthMax: depthMax).add(to: &table)
        ListRoutes(store: serving).add(to: &table)
        history.add(to: &table)
        WatchRoutes(store: watched, hub: watches).add(to: &table)
        let operations = Operations(configuration, store: serving)
        OperationRoutes(
            operations: operations,
            fetching: configuration.fetching,
            canCompare: configuration.compare != nil,
            depthMax: depthMax
        ).add(to: &table)
        ExportRoutes(store: serving, journal: journal, places: exports).add(to: &table)
        ImportRoutes(
            store: serving,
            depthMax: depthMax,
            lineByteCountMax: configuration.http.bodyBytesMax,
            places: configuration.importPlaces
        ).add(to: &table)
        return (table, watched.usage, operations)
    }

    private func shadows(_ usage: @escaping @Sendable () -> StoreUsage) -> Shadows? {
        let stores = configuration.shadows.map { kind in
            kind.accept(
                ShadowMaker(configuration: configuration, meters: meters, servingUsage: usage)
            )
        }
        return Shadows(
            stores,
            ShadowSampler(interval: configuration.shadowInterval),
            nanoseconds: { latchkey_system_nanoseconds() }
        )
    }
}

extension ServiceConfiguration {
    fileprivate var answerBudget: AnswerBudget {
        AnswerBudget(
            byteCountMax: answerByteCountMax,
            clientByteCountMax: http.share(of: answerByteCountMax)
        )
    }

    fileprivate var chosenStart: Revision {
        startRevision ?? .start(at: StoreClock.system.now())
    }

    fileprivate func router(_ table: RouteTable) -> Router {
        table.router(hosts: AllowedHosts(self), origins: AllowedOrigins(allowedOrigins))
    }

    fileprivate func table(_ registry: MetricRegistry, _ answers: AnswerBudget) -> RouteTable {
        RouteTable(
            metrics: RequestMetrics(
                registry,
                sendsServerTiming: sendsServerTiming,
                answers: answers
            ),
            repetition: Repetition(idempotency, clientShare: http.clientShare, registry)
        )
    }

    fileprivate func watchPlaces(_ registry: MetricRegistry) -> SharedPlaces {
        places(of: watchLimits.watcherCountMax, "watches", registry)
    }

    fileprivate func exportPlaces(_ registry: MetricRegistry) -> SharedPlaces {
        places(of: exportCountMax, "exports", registry)
    }

    /// Who has none is not refused: its imports are slower.
    fileprivate var importPlaces: SharedPlaces {
        SharedPlaces(
            countMax: ImportBuffer.longCountMax,
            clientCountMax: http.share(of: ImportBuffer.longCountMax)
        )
    }

    /// Places for so many, of which each client gets its share.
    private func places(
        of countMax: Int,
        _ resource: String,
        _ registry: MetricRegistry
    ) -> SharedPlaces {
        SharedPlaces(
            countMax: countMax,
            clientCountMax: http.share(of: countMax),
            refusals: ShareRefusals(registry, resource)
        )
    }
}

extension Fingerprint.Context {
    fileprivate init(_ configuration: ServiceConfiguration) {
        self.init(
            version: configuration.version,
            httpLibrary: "libmicrohttpd \(HTTPServer.libraryVersion)",
            httpThreads: configuration.http.usesThreadPerConnection
                ? "per-connection" : "event-loops:\(configuration.http.eventLoopCount)"
        )
    }
}

extension HTTPServerConfiguration {
    /// With problem details for the answers that the server makes by itself.
    fileprivate var withProblemBodies: Self {
        var server = self
        server.timeoutBody = Problem.requestTimeout.text
        server.tooLargeBody = Problem.bodyTooLarge.text
        server.malformedBody = Problem.malformedRequest.text
        server.headTooLargeBody = Problem.headersTooLarge.text
        server.drainingBody = Problem.draining.text
        server.unknownBody = Problem.outcomeUnknown.text
        server.lateBody = Problem.timedOut.text
        return server
    }
}

extension Problem {
    fileprivate var text: String { String(decoding: json(), as: UTF8.self) }
}
