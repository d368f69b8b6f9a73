internal import LatchkeyAccess
internal import LatchkeyContention
package import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyMetrics
internal import LatchkeyOperations
internal import LatchkeyPersistence
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import LatchkeyWatches

/// A service that listens and serves, from its initialiser to ``drain()``.
///
/// **Design.** A process has one service. Its parts refer to each other in cycles (the metrics to
/// the server, the server to the routes, these to the metrics and the store), so they are freed
/// with the process. All are made at start, so what is kept does not grow.
package final class RunningService: Sendable {
    private let server: HTTPServer
    private let watches: WatchHub
    private let operations: Operations
    private let profiles: ProfileWindows
    private let persistence: Persistence?
    private let access: AccessControl?
    private let certificate: ServedCertificate?
    private let audit: AuditLog?
    private let follower: Follower?
    private let cluster: Cluster?
    private let readiness: Readiness
    private let overview: Overview
    private let admin: AdminServer?
    private let memory = FreeMemory()
    private let drainTime: Duration
    private let state: ServiceState

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
    ///   - failed: Called on any thread when the service has to end at once, by ``drain(within:)``
    ///     in no time, since the disk cannot be relied upon.
    /// - Throws: ``StartFailure`` if the service cannot listen, or cannot read its data.
    package init(
        _ configuration: ServiceConfiguration,
        recorder: TraceRecorder? = nil,
        failed: @escaping @Sendable () -> Void = {}
    ) throws(StartFailure) {
        let log = Log(format: configuration.logFormat, level: configuration.logLevel)
        let access = try configuration.openAccess(log)
        let certificate = try configuration.openCertificate()
        var configuration = configuration.withStorableBodies
        configuration.http.identity = certificate?.identity
        let registry = MetricRegistry()
        let audit = try configuration.openAudit(registry, log)
        let meters = ContentionMeters()
        let answers = configuration.answerBudget
        let keepsData = !configuration.persistence.path.isEmpty
        let follower = configuration.follower(log)
        let cluster = try configuration.openCluster(log)
        let readiness = configuration.readiness(follower?.state, cluster?.state)
        let profile = configuration.isProfiling ? ContentionProfile() : nil
        let operating = OperatingRoutes(configuration, meters, profile, registry, readiness)
        var requests = configuration.requests(registry, answers, access, audit, follower, cluster)
        operating.addProbes(to: &requests.table)
        let gate = RouterGate(configuration.router(requests.table, isRecovering: true)) {
            readiness.isHeld
        }
        let isEarly = keepsData || follower != nil
        let early = isEarly ? try Self.listen(configuration.http, gate, log) : nil
        let admin = try configuration.startAdmin(requests.table, log)
        do throws(StartFailure) {
            let maker = StoreRouteMaker(
                configuration: configuration,
                meters: meters,
                profile: profile,
                registry: registry,
                answers: answers,
                recorder: recorder,
                data: keepsData ? try configuration.openData(log, cluster) : nil,
                readiness: readiness,
                requests: requests,
                following: try follower?.seeded(),
                cluster: cluster,
                failed: failed
            )
            let output = try maker.make()
            var table = output.table
            profiles = ProfileWindows()
            ProfileRoutes(profile: profile, windows: profiles).add(to: &table)
            operating.add(to: &table)
            let strategy = ServingStrategy(StrategySwitch(output.store, meters), registry, log)
            StrategyRoutes(strategy: strategy, depthMax: configuration.storeLimits.depthMax)
                .add(to: &table)
            overview = maker.overview(output, strategy, in: &table)
            SessionRoutes(access: access).add(to: &table)
            gate.open(configuration.router(table))
            admin?.open(configuration.router(table, isAdmin: true))
            operations = output.operations
            watches = maker.watches
            persistence = maker.data?.persistence
            server = if let early { early } else { try Self.listen(configuration.http, gate, log) }
            (drainTime, self.admin) = (configuration.drainTime, admin)
            (self.access, self.certificate, self.audit) = (access, certificate, audit)
            (self.follower, self.cluster, self.readiness) = (follower, cluster, readiness)
            state = ServiceState(configuration, maker, output, strategy, server, answers, audit)
            register(configuration, maker, output, answers, in: registry)
            // Behind the gate and the port: who is told that the service is ready sends requests.
            readiness.opens()
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
            usage: { made.store.usage },
            evictor: maker.evictor,
            expiries: maker.expiries,
            in: registry
        )
        state.bounds.register(in: registry)
        QuotaMetrics.register({ made.store.quotaUsage }, in: registry)
        if let persistence {
            DataMetrics.register(persistence, in: registry)
        }
        WatchMetrics.register(journal: maker.journal, watches: watches, in: registry)
        OperationMetrics.register(operations, in: registry)
        AccessMetrics.register(access, isInsecure: configuration.isInsecure, in: registry)
        certificate?.register(in: registry)
        follower?.state.register(in: registry)
        cluster?.register(in: registry)
        ProcessMetrics.register(in: registry, configuration.program)
        let bounds = state.bounds
        overview.start { bounds.readings }
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
                isHeld: gate.isHeld,
                head: { gate.handleHead($0) },
                handle: { gate.handle($0) }
            )
        } catch {
            throw StartFailure(reason: error.description)
        }
    }

    /// Whether there are files that can change while the service runs.
    package var readsFiles: Bool { access != nil || certificate != nil }

    /// Reads the files of tokens and certificates again: now, or if they have changed.
    ///
    /// A file that is not right leaves everything as it was; the log says so.
    package func reload(onlyIfChanged: Bool, _ log: Log) {
        reloadTokens(onlyIfChanged: onlyIfChanged, log)
        reloadCertificate(onlyIfChanged: onlyIfChanged, log)
    }

    private func reloadCertificate(onlyIfChanged: Bool, _ log: Log) {
        do throws(AccessFileError) {
            let expiry = try certificate?.reload(onlyIfChanged: onlyIfChanged) {
                identity throws(TLSIdentityError) in
                try server.identify(identity)
                try admin?.identify(identity)
            }
            guard let expiry else { return }
            let end = Timestamp(milliseconds: expiry * 1000)
            log.write(.info, "certificate read", ["ends": end.calendarText])
        } catch {
            log.write(.error, "certificate not read", ["reason": error.message])
        }
    }

    /// Watches and long polls of those who may not read that any more end.
    private func reloadTokens(onlyIfChanged: Bool, _ log: Log) {
        guard let access else { return }
        do throws(AccessFileError) {
            guard let count = try access.reload(onlyIfChanged: onlyIfChanged) else { return }
            log.write(.info, "tokens read", ["before": "\(count.former)", "now": "\(count.now)"])
            watches.tokensChanged()
        } catch {
            log.write(.error, "tokens not read", ["reason": error.message])
        }
    }

    /// Reads the addresses and certificates of etcd again.
    package func reloadCluster() {
        cluster?.reload()
    }

    /// Opens the audit log anew.
    package func reopenAudit() {
        audit?.reopen()
    }

    /// Says that the service is not ready any more, and serves on.
    package func announceEnd() {
        readiness.drains()
    }

    /// Writes the state of the service to the log, a line for each part.
    ///
    /// Delays no request. Any thread.
    package func writeState(to log: Log) {
        state.write(to: log)
    }

    /// Stops listening, lets the requests in flight finish, writes what is committed, and ends the
    /// service.
    ///
    /// Blocks for at most the configured time and a fraction of a second, unless the strategy
    /// blocks a thread that serves, or the disk is slow. Call it once.
    ///
    /// - Parameter time: For the requests in flight, instead of the configured one.
    /// - Returns: What became of the requests, and of the data.
    package func drain(within time: Duration? = nil) -> Drained {
        let drainTime = time ?? drainTime
        readiness.drains()
        follower?.stop()
        cluster?.drain()
        watches.drain()
        profiles.drain()
        memory.end()
        overview.end()
        defer {
            watches.stop()
            admin?.stop()
        }
        // Before the server stops, so that streams of events still get the last one.
        operations.drain(within: min(drainTime, .milliseconds(200)))
        let cutOff = server.stop(within: drainTime)
        cluster?.stop()
        let end = persistence?.finish() ?? .written
        // Behind the last answers, which waited for the data.
        audit?.finish()
        return Drained(
            requestCount: cutOff.requestCount,
            answerCount: cutOff.answerCount,
            isWritten: end == .written,
            isDiskFull: end == .full
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
    /// Whether it is not because the disk is full.
    package let isDiskFull: Bool

    package init(
        requestCount: Int,
        answerCount: Int,
        isWritten: Bool,
        isDiskFull: Bool = false
    ) {
        self.requestCount = requestCount
        self.answerCount = answerCount
        self.isWritten = isWritten
        self.isDiskFull = isDiskFull
    }
}
