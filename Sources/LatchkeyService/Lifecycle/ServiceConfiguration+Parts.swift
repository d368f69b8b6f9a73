internal import LatchkeyAccess
internal import LatchkeyContention
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyMetrics
internal import LatchkeyPersistence
internal import LatchkeyStore
internal import LatchkeyWatches

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

    /// Opens the data, or begins with none.
    func openData(_ log: Log, _ cluster: Cluster?) throws(StartFailure) -> DurableData {
        guard let cluster else { return try openData(log, startingAt: chosenStart) }
        guard Persistence.hasWholeData(persistence.path) else {
            let start = try cluster.prepare(agreement, nil)
            return try openData(log, startingAt: start)
        }
        // They have a start, and say which etcd is theirs.
        let data = try openData(log, startingAt: chosenStart)
        _ = try cluster.prepare(agreement, data.persistence)
        return data
    }

    /// What this service would agree on with other replicas.
    private func agreement(etcd: UInt64) -> ClusterAgreement { ClusterAgreement(self, etcd: etcd) }

    private func openData(
        _ log: Log,
        startingAt start: Revision
    ) throws(StartFailure) -> DurableData {
        do {
            return try DurableData(persistence, startingAt: start, log: log)
        } catch {
            throw StartFailure(reason: error.reason(isReplica: self.cluster.isOn))
        }
    }

    /// The same with bodies that are no longer than a value on the disk can be.
    var withStorableBodies: Self {
        var configuration = self
        if !persistence.path.isEmpty {
            configuration.http.bodyBytesMax = min(http.bodyBytesMax, persistence.valueByteCountMax)
        }
        return configuration
    }

    /// What follows another service; nil if this one leads.
    func follower(_ log: Log) -> Follower? {
        guard follow.isOn else { return nil }
        var limits = storeLimits
        limits.valueByteCountMax = http.bodyBytesMax
        return Follower(follow, FollowState(leader: follow.leader), limits, log)
    }

    /// The checks, among them how far the state is level with that of others, if there are some.
    func readiness(_ follow: FollowState?, _ cluster: ClusterState?) -> Readiness {
        var others: (@Sendable () -> Readiness.Check)?
        if let cluster { others = { cluster.check } }
        if let follow { others = { follow.check } }
        return Readiness(
            isRecovering: !persistence.path.isEmpty,
            isInsecure: isInsecure,
            others: others
        )
    }

    /// What makes the service a replica of a cluster; nil if it is none.
    func openCluster(_ log: Log) throws(StartFailure) -> Cluster? {
        cluster.isOn ? try Cluster(cluster, folder: persistence.path, log) : nil
    }

    /// Whether other machines can reach the service, and everybody may do everything.
    package var isInsecure: Bool {
        access.tokenFile.isEmpty && AllowedHosts.isLoopback(http.host) == false
    }

    /// Reads the tokens; nil if there is no file of them.
    func openAccess(_ log: Log) throws(StartFailure) -> AccessControl? {
        guard !access.tokenFile.isEmpty else { return nil }
        do throws(AccessFileError) {
            if try access.makeFirstToken() {
                log.write(.info, "first token made", ["file": access.firstToken])
            }
            return try AccessControl(access, isEncrypted: tls.isOn)
        } catch {
            throw StartFailure(reason: error.message)
        }
    }

    /// Reads the certificate; nil if the service speaks plain HTTP.
    func openCertificate() throws(StartFailure) -> ServedCertificate? {
        guard tls != TLSSettings() else { return nil }
        guard tls.clientAuthorities.isEmpty || !access.tokenFile.isEmpty else {
            throw StartFailure(reason: "--tls-client-ca needs --token-file: it names the rights.")
        }
        do {
            return try ServedCertificate(tls)
        } catch {
            throw StartFailure(reason: error.message)
        }
    }

    /// Opens the audit log; nil if there is none.
    func openAudit(_ registry: MetricRegistry, _ log: Log) throws(StartFailure) -> AuditLog? {
        guard !audit.path.isEmpty else { return nil }
        do throws(AuditFailure) {
            return try AuditLog(path: audit.path, registry, log)
        } catch {
            throw StartFailure(reason: error.message)
        }
    }

    /// The table of routes, without any yet, and the steps of their requests.
    func requests(
        _ registry: MetricRegistry,
        _ answers: AnswerBudget,
        _ access: AccessControl?,
        _ audit: AuditLog?,
        _ follower: Follower?,
        _ cluster: Cluster?
    ) -> RequestParts {
        var lines: RequestMetrics.AuditMaker?
        if let audit { lines = { method, route, _ in RouteAudit(audit, method, route) } }
        let metrics = RequestMetrics(
            registry,
            sendsServerTiming: sendsServerTiming,
            answers: answers,
            audit: lines,
            age: follower?.state.age ?? cluster?.state.age
        )
        let admission = Admission(
            access: access,
            rate: RateLimit(rate, registry),
            connectionCountMax: http.connectionsPerAddressBound
        )
        let repetition = Repetition(
            idempotency,
            clientShare: http.clientShare,
            registry,
            isShared: self.cluster.isOn
        )
        let steps = admission.steps(leader: follower?.state, repetition: repetition)
        return RequestParts(
            table: RouteTable(metrics: metrics, steps: steps),
            repetition: repetition,
            access: access,
            audit: audit
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

extension ServiceConfiguration {
    /// How many threads a service must be able to have: its event loops, and those that
    /// ARCHITECTURE.md lists beside them.
    package var threadCount: Int { http.eventLoopCount + 16 }
}

extension Fingerprint.Context {
    init(_ configuration: ServiceConfiguration) {
        self.init(
            version: configuration.program.version,
            httpLibrary: "libmicrohttpd \(HTTPServer.libraryVersion)",
            httpThreads: "event-loops:\(configuration.http.eventLoopCount)"
        )
    }
}

extension HTTPServerConfiguration {
    /// With problem details for the answers that the server makes by itself.
    var withProblemBodies: Self {
        var server = self
        server.timeoutBody = Problem.requestTimeout.text
        server.tooLargeBody = Problem.bodyTooLarge.text
        server.drainingBody = Problem.draining.text
        server.unknownBody = Problem.outcomeUnknown.text
        server.lateBody = Problem.timedOut.text
        server.heldBody = Problem.held
        return server
    }
}

extension Problem {
    /// The answer to a read that waits for what a full disk does not take.
    static var held: String {
        let detail =
            "The disk of the server is full, and what this answer depends on is not written yet. "
            + "Repeat the request when there is room."
        return String(decoding: diskFull.json(status: 503, detail: detail), as: UTF8.self)
    }

    var text: String { String(decoding: json(), as: UTF8.self) }
}

extension OperatingRoutes {
    init(
        _ configuration: ServiceConfiguration,
        _ meters: ContentionMeters,
        _ profile: ContentionProfile?,
        _ registry: MetricRegistry,
        _ readiness: Readiness
    ) {
        self.init(
            meters: meters,
            profile: profile,
            registry: registry,
            context: Fingerprint.Context(configuration),
            readiness: readiness,
            program: configuration.program
        )
    }
}
