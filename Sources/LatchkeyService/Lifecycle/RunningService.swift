internal import CLatchkeySystem
internal import LatchkeyContention
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyMetrics
internal import LatchkeyOperations
internal import LatchkeyPersistence
internal import LatchkeyStore
internal import LatchkeyStrategies

/// A service that listens and serves, from its initialiser to ``drain()``.
///
/// **Design.** ``StoreRouteMaker`` chooses the strategy once. From ``ServedStore`` on, the path of
/// a request is generic over the strategy and is compiled for each one. All else is compiled once.
///
/// A process has one service. Its parts refer to each other in cycles (the metrics to the server,
/// the server to the routes, these to the metrics and the store), so they are freed with the
/// process. All are made at start, so what is kept does not grow.
package final class RunningService: Sendable {
    private let server: HTTPServer
    private let watches: WatchHub
    private let operations: Operations
    private let profiles: ProfileWindows
    private let persistence: Persistence?
    private let access: AccessControl?
    private let readiness: Readiness
    private let admin: AdminServer?
    private let memory = FreeMemory()
    private let drainTime: Duration

    /// The port that the service listens on.
    package var port: UInt16 { server.port }

    /// The second port, if there is one.
    package var adminPort: UInt16? { admin?.port }

    /// Starts to listen and serve.
    ///
    /// With data on disk it listens at once, and refuses requests until the data is read.
    ///
    /// - Parameters:
    ///   - configuration: The choices.
    ///   - recorder: Records the operations, if there is one.
    /// - Throws: ``StartFailure`` if the service cannot listen, or cannot read its data.
    package init(
        _ configuration: ServiceConfiguration,
        recorder: TraceRecorder? = nil
    ) throws(StartFailure) {
        let log = Log(format: configuration.logFormat, level: configuration.logLevel)
        let access = try configuration.openAccess(log)
        let registry = MetricRegistry()
        let meters = ContentionMeters()
        let answers = configuration.answerBudget
        let keepsData = !configuration.persistence.path.isEmpty
        let readiness = Readiness(isRecovering: keepsData, isInsecure: configuration.isInsecure)
        let profile = configuration.isProfiling ? ContentionProfile() : nil
        let operating = OperatingRoutes(
            strategy: configuration.strategy,
            meters: meters,
            profile: profile,
            registry: registry,
            context: Fingerprint.Context(configuration),
            readiness: readiness
        )
        var table = configuration.table(registry, answers, access)
        operating.addProbes(to: &table)
        let gate = RouterGate(configuration.router(table, isRecovering: true))
        let early = keepsData ? try Self.listen(configuration.http, gate, log) : nil
        let admin = try configuration.startAdmin(table, log)
        do throws(StartFailure) {
            let maker = StoreRouteMaker(
                configuration: configuration,
                meters: meters,
                profile: profile,
                registry: registry,
                answers: answers,
                recorder: recorder,
                data: keepsData ? try configuration.openData(log) : nil,
                readiness: readiness,
                table: table
            )
            let output = try configuration.strategy.accept(maker).get()
            table = output.table
            profiles = ProfileWindows()
            ProfileRoutes(profile: profile, windows: profiles).add(to: &table)
            operating.add(to: &table)
            SessionRoutes(access: access).add(to: &table)
            gate.open(configuration.router(table))
            admin?.open(configuration.router(table, isAdmin: true))
            operations = output.operations
            watches = maker.watches
            persistence = maker.data?.persistence
            server = if let early { early } else { try Self.listen(configuration.http, gate, log) }
            drainTime = configuration.drainTime
            self.access = access
            self.readiness = readiness
            self.admin = admin
            register(configuration, maker, output, answers, in: registry)
        } catch {
            early?.stop(within: .zero)
            admin?.stop()
            throw error
        }
    }

    private func register(
        _ configuration: ServiceConfiguration,
        _ maker: StoreRouteMaker,
        _ made: StoreRouteMaker.Made,
        _ answers: AnswerBudget,
        in registry: MetricRegistry
    ) {
        maker.meters.register(in: registry)
        ServiceMetrics.register(
            server: server,
            answers: answers,
            usage: made.usage,
            evictor: maker.evictor,
            expiries: maker.expiries,
            in: registry
        )
        if let persistence {
            DataMetrics.register(persistence, in: registry)
        }
        WatchMetrics.register(journal: maker.journal, watches: watches, in: registry)
        OperationMetrics.register(operations, in: registry)
        AccessMetrics.register(access, isInsecure: configuration.isInsecure, in: registry)
        ProcessMetrics.register(in: registry, version: configuration.version)
    }

    static func listen(
        _ http: HTTPServerConfiguration,
        _ gate: RouterGate,
        _ log: Log
    ) throws(StartFailure) -> HTTPServer {
        do {
            return try HTTPServer(
                http.withProblemBodies,
                log: { log.write(.warning, $0) },
                head: { gate.handleHead($0) },
                handle: { gate.handle($0) }
            )
        } catch {
            throw StartFailure(reason: error.description)
        }
    }

    /// Whether there is a file of tokens.
    package var hasTokens: Bool { access != nil }

    /// Reads the file of tokens again: now, or if it has changed.
    ///
    /// A file that is not right leaves the tokens as they were; the log says so. Watches and long
    /// polls of those who may not read that any more end.
    package func reloadTokens(onlyIfChanged: Bool, _ log: Log) {
        guard let access else { return }
        do throws(TokenFileError) {
            guard let count = try access.reload(onlyIfChanged: onlyIfChanged) else { return }
            log.write(.info, "tokens read", ["before": "\(count.former)", "now": "\(count.now)"])
            watches.tokensChanged()
        } catch {
            log.write(.error, "tokens not read", ["reason": error.message])
        }
    }

    /// Stops listening, lets the requests in flight finish, writes what is committed, and ends the
    /// service.
    ///
    /// Blocks for at most the configured time and a fraction of a second, unless the strategy
    /// blocks a thread that serves, or the disk is slow. Call it once.
    package func drain() -> Drained {
        readiness.drains()
        watches.drain()
        profiles.drain()
        memory.end()
        defer {
            watches.stop()
            admin?.stop()
        }
        // Before the server stops, so that streams of events still get the last one.
        operations.drain(within: min(drainTime, .milliseconds(200)))
        let cutOff = server.stop(within: drainTime)
        return Drained(
            requestCount: cutOff.requestCount,
            answerCount: cutOff.answerCount,
            isWritten: persistence?.finish() ?? true
        )
    }
}

/// What became of the work of a service that ended.
package struct Drained: Sendable, Equatable {
    /// Requests that were cut off because the time was over.
    package let requestCount: Int
    /// Answers that were cut off.
    package let answerCount: Int
    /// Whether everything that was committed is on disk.
    package let isWritten: Bool

    package init(requestCount: Int, answerCount: Int, isWritten: Bool) {
        self.requestCount = requestCount
        self.answerCount = answerCount
        self.isWritten = isWritten
    }
}

/// Why a service does not start: a sentence.
package struct StartFailure: Error, Sendable {
    package let reason: String
    /// A signal asked for the end; nothing has failed.
    package var isAsked = false
}

extension ServiceConfiguration {
    var answerBudget: AnswerBudget {
        AnswerBudget(
            byteCountMax: answerByteCountMax,
            clientByteCountMax: http.share(of: answerByteCountMax)
        )
    }

    var chosenStart: Revision {
        startRevision ?? .start(at: StoreClock.system.now())
    }

    func router(
        _ table: RouteTable,
        isRecovering: Bool = false,
        isAdmin: Bool = false
    ) -> Router {
        table.router(
            hosts: AllowedHosts(self),
            origins: AllowedOrigins(allowedOrigins),
            isRecovering: isRecovering,
            only: isAdmin ? AdminServer.patterns : nil
        )
    }

    /// Listens on the second port, if there is one, for what the table has so far.
    func startAdmin(_ table: RouteTable, _ log: Log) throws(StartFailure) -> AdminServer? {
        guard let adminPort else { return nil }
        let router = router(table, isRecovering: true, isAdmin: true)
        return try AdminServer(http, port: adminPort, router, log)
    }

    /// Opens the data.
    ///
    /// A store that keeps its data begins at 1, unless it is told otherwise.
    func openData(_ log: Log) throws(StartFailure) -> DurableData {
        do {
            return try DurableData(persistence, startingAt: startRevision ?? 0, log: log)
        } catch {
            throw StartFailure(reason: error.message)
        }
    }

    /// Whether other machines can reach the service, and everybody may do everything.
    package var isInsecure: Bool {
        access.tokenFile.isEmpty && AllowedHosts.isLoopback(http.host) == false
    }

    /// Reads the tokens; nil if there is no file of them.
    func openAccess(_ log: Log) throws(StartFailure) -> AccessControl? {
        guard !access.tokenFile.isEmpty else { return nil }
        do throws(TokenFileError) {
            if try access.makeFirstToken() {
                log.write(.info, "first token made", ["file": access.firstToken])
            }
            return try AccessControl(access)
        } catch {
            throw StartFailure(reason: error.message)
        }
    }

    func table(
        _ registry: MetricRegistry,
        _ answers: AnswerBudget,
        _ access: AccessControl?
    ) -> RouteTable {
        RouteTable(
            metrics: RequestMetrics(
                registry,
                sendsServerTiming: sendsServerTiming,
                answers: answers
            ),
            admission: Admission(access: access, rate: RateLimit(rate, registry)),
            repetition: Repetition(idempotency, clientShare: http.clientShare, registry)
        )
    }

    func watchPlaces(_ registry: MetricRegistry) -> SharedPlaces {
        places(of: watchLimits.watcherCountMax, "watches", registry)
    }

    func exportPlaces(_ registry: MetricRegistry) -> SharedPlaces {
        places(of: exportCountMax, "exports", registry)
    }

    /// Who has none is not refused: its imports are slower.
    var importPlaces: SharedPlaces {
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
    init(_ configuration: ServiceConfiguration) {
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
    var withProblemBodies: Self {
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
    var text: String { String(decoding: json(), as: UTF8.self) }
}
