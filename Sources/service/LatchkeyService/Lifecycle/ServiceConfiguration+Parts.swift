internal import LatchkeyAccess
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyPersistence
internal import LatchkeyReplicas
internal import LatchkeyStore

extension ServiceConfiguration {
    /// Whether the service has its data on a disk.
    var keepsData: Bool { !persistence.path.isEmpty }

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

    /// Listens on the second port, if there is one, with the routes that the table has so far.
    func startAdmin(
        _ table: RouteTable,
        in frame: ServiceFrame
    ) throws(StartFailure) -> AdminServer? {
        guard let adminPort else { return nil }
        let router = router(table, isRecovering: true, isAdmin: true)
        return try AdminServer(http, port: adminPort, router, in: frame)
    }

    /// Opens the data, or begins with none.
    func openData(
        _ frame: ServiceFrame,
        _ cluster: Cluster?
    ) throws(StartFailure) -> DurableData {
        let log = frame.log
        guard let cluster else { return try openData(log, startingAt: chosenStart) }
        guard Persistence.hasWholeData(persistence.path) else {
            let start = try cluster.prepare(agreement, nil)
            return try openData(log, startingAt: start)
        }
        // The data have a start revision, and name their etcd.
        let data = try openData(log, startingAt: chosenStart)
        _ = try cluster.prepare(agreement, data.persistence)
        return data
    }

    /// The settings that this service would agree on with other replicas.
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

    /// The same with limits that agree: no body is longer than a value can be, and no value is
    /// longer than a body.
    var withStorableBodies: Self {
        var configuration = self
        if !persistence.path.isEmpty {
            configuration.http.bodyBytesMax = min(http.bodyBytesMax, persistence.valueByteCountMax)
        }
        configuration.storeLimits.valueByteCountMax = configuration.http.bodyBytesMax
        return configuration
    }

    /// The follower of another service; nil if this service leads.
    func follower(in frame: ServiceFrame) throws(StartFailure) -> Follower? {
        guard follow.isOn else { return nil }
        try follow.peers.check()
        let follower = Follower(follow, FollowState(leader: follow.leader), storeLimits, frame.log)
        follower.state.register(in: frame.registry)
        frame.closing.at(.replicas) { follower.stop() }
        return follower
    }

    /// The cluster of this replica; nil if the service is not a replica.
    func openCluster(in frame: ServiceFrame) throws(StartFailure) -> Cluster? {
        guard cluster.isOn else { return nil }
        let replica = try Cluster(cluster, folder: persistence.path, frame.log)
        frame.closing.at(.replicas) { replica.drain() }
        frame.closing.at(.execution) { replica.stop() }
        return replica
    }

    /// The checks; one of them is whether the state is up to date with that of others, if there are
    /// some.
    func readiness(
        _ follow: FollowState?,
        _ cluster: ClusterState?,
        in frame: ServiceFrame
    ) -> Readiness {
        var others: (@Sendable () -> Readiness.Check)?
        if let cluster { others = { cluster.check } }
        if let follow { others = { follow.check } }
        let readiness = Readiness(
            isRecovering: !persistence.path.isEmpty,
            isInsecure: isInsecure,
            others: others
        )
        frame.closing.at(.announced) { readiness.drains() }
        return readiness
    }

    /// Whether other machines can reach the service, and every client may do everything.
    package var isInsecure: Bool {
        access.tokenFile.isEmpty && AllowedHosts.isLoopback(http.host) == false
    }

    /// Reads the tokens; nil if there is no file of them.
    func openAccess(in frame: ServiceFrame) throws(StartFailure) -> AccessControl? {
        let control = try readTokens(frame.log)
        AccessMetrics.register(control, isInsecure: isInsecure, in: frame.registry)
        return control
    }

    private func readTokens(_ log: Log) throws(StartFailure) -> AccessControl? {
        guard !access.tokenFile.isEmpty else { return nil }
        do throws(AccessFileError) {
            if try access.makeFirstToken() {
                log.write(.info, "first token made", ["file": access.firstToken])
            }
            return try AccessControl(access, isEncrypted: tls.isOn)
        } catch {
            throw StartFailure(reason: access.sentence(about: error))
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
    func openAudit(in frame: ServiceFrame) throws(StartFailure) -> AuditLog? {
        guard !audit.path.isEmpty else { return nil }
        do throws(AuditFailure) {
            let opened = try AuditLog(path: audit.path, frame.registry, frame.log)
            frame.closing.at(.logs) { opened.finish() }
            return opened
        } catch {
            throw StartFailure(reason: error.message)
        }
    }

    /// The counters of requests, which also write their lines into the audit log, if there is one.
    ///
    /// - Parameters:
    ///   - audit: Nil without an audit log.
    ///   - age: How old the state can be; nil if it is that of this service alone.
    ///   - frame: The frame of the service.
    /// - Returns: The counters, without any route yet.
    func metrics(
        _ audit: AuditLog?,
        _ age: StateAge?,
        in frame: ServiceFrame
    ) -> RequestMetrics {
        var lines: RequestMetrics.AuditMaker?
        if let audit { lines = { method, route, _ in RouteAudit(audit, method, route) } }
        return RequestMetrics(
            frame.registry,
            sendsServerTiming: sendsServerTiming,
            answers: frame.answers,
            audit: lines,
            failures: FailedRequests(frame.log),
            traffic: Traffic(),
            age: age
        )
    }

    /// The steps of requests, without those of reads.
    ///
    /// - Parameters:
    ///   - access: The rights of tokens; nil if every client may do everything.
    ///   - leader: Refuses requests for a leader; nil if the service leads.
    ///   - repetition: Nil if `Idempotency-Key` is switched off.
    ///   - frame: The frame of the service.
    /// - Returns: The steps.
    func steps(
        _ access: AccessControl?,
        _ leader: FollowState?,
        _ repetition: Repetition?,
        in frame: ServiceFrame
    ) -> RouteSteps {
        let admission = Admission(
            access: access,
            rate: RateLimit(rate, frame.registry),
            connectionCountMax: http.connectionsPerAddressBound
        )
        return admission.steps(leader: leader, repetition: repetition)
    }
}

extension ServiceConfiguration {
    /// How many threads a service must be able to have: its event loops, and the others that
    /// ARCHITECTURE.md lists.
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
    /// With problem details for the answers that the server itself makes.
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
    /// The answer to a read that waits for commits that a full disk does not take.
    static var held: String {
        let detail =
            "The disk of the server is full, and what this answer depends on is not written yet. "
            + "Repeat the request when there is room."
        return String(decoding: diskFull.json(status: 503, detail: detail), as: UTF8.self)
    }

    var text: String { String(decoding: json(), as: UTF8.self) }
}
