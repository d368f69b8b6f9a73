internal import LatchkeyAccess
package import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyOperations
internal import LatchkeyReplicas
internal import LatchkeyStore
internal import LatchkeyWatches

/// A service that listens and serves, from its initialiser to ``drain()``.
///
/// **Design.** A process has one service. Its parts refer to each other in cycles (the metrics to
/// the server, the server to the routes, these to the metrics and the store), so they are freed
/// with the process. All are made at start, so the kept memory does not grow.
package final class RunningService: Sendable {
    private let server: HTTPServer
    private let admin: AdminServer?
    private let watches: WatchHub
    private let access: AccessControl?
    private let certificate: ServedCertificate?
    private let audit: AuditLog?
    private let cluster: Cluster?
    private let readiness: Readiness
    private let state: ServiceState
    private let closing: Closing
    private let drainTime: Duration

    /// The port that the service listens on.
    package var port: UInt16 { server.port }

    /// The second port, if there is one.
    package var adminPort: UInt16? { admin?.port }

    /// Starts listening and serving.
    ///
    /// With data on disk it listens at once, and refuses requests until the data is read. The code
    /// that makes a part registers its metrics, its limits and its end.
    ///
    /// - Parameters:
    ///   - choices: The configuration.
    ///   - recorder: Records the operations, if there is one.
    ///   - failed: Called on any thread when the service has to end at once, by ``drain(within:)``
    ///     without waiting, because the disk is unreliable.
    /// - Throws: ``StartFailure`` if the service cannot listen, or cannot read its data.
    package init(
        _ choices: ServiceConfiguration,
        recorder: TraceRecorder? = nil,
        failed: @escaping @Sendable () -> Void = {}
    ) throws(StartFailure) {
        var choices = choices.withStorableBodies
        let log = Log(format: choices.logFormat, level: choices.logLevel)
        let frame = ServiceFrame(choices.http, answerByteCountMax: choices.answerByteCountMax, log)
        (closing, drainTime) = (frame.closing, choices.drainTime)
        let memory = FreeMemory()
        closing.at(.streams) { memory.end() }
        access = try choices.openAccess(in: frame)
        certificate = try choices.openCertificate()
        certificate?.register(in: frame.registry)
        choices.http.identity = certificate?.identity
        audit = try choices.openAudit(in: frame)
        let follower = try choices.follower(in: frame)
        let cluster = try choices.openCluster(in: frame)
        self.cluster = cluster
        readiness = choices.readiness(follower?.state, cluster?.state, in: frame)
        let repetition = Repetition(choices.idempotency, in: frame)
        let metrics = choices.metrics(audit, follower?.state.age ?? cluster?.state.age, in: frame)
        let steps = choices.steps(access, follower?.state, repetition, in: frame)
        var table = RouteTable(metrics: metrics, steps: steps)
        let operating = OperatingRoutes(choices, readiness, in: frame)
        operating.addProbes(to: &table)
        let gate = RouterGate(choices.router(table, isRecovering: true)) { [readiness] in
            readiness.isHeld
        }
        let isEarly = choices.keepsData || follower != nil
        let early = isEarly ? try gate.listen(choices.http, in: frame) : nil
        admin = try choices.startAdmin(table, in: frame)
        do throws(StartFailure) {
            let maker = StoreMaker(choices, frame, operating, readiness, failed: failed)
            let made = try maker.make(repetition, follower, cluster)
            let watching = Watches(made.store, made.journal, choices.watchLimits, in: frame)
            watches = watching.hub
            let store = ServedProperties(
                made.store,
                replicated: made.replicated,
                recorder: recorder
            )
            let reads = watching.reads(leader: follower?.state.refusal, others: cluster)
            table.steps.append(reads, to: [.read])
            choices.addStoreRoutes(store, made, watching, cluster, in: frame, to: &table)
            watching.add(to: &table)
            PromoteRoute(follower) { made.expiries.start(made.store) }.add(to: &table)
            ClusterRoutes(cluster: cluster, follow: follower?.state).add(to: &table)
            let operations = Operations(choices, store: store, audit: audit, in: frame)
            OperationRoutes(operations, access, choices).add(to: &table)
            operating.add(to: &table)
            let change = StrategySwitch(made.store, operating.meters)
            let strategy = ServingStrategy(change, frame.registry, log)
            StrategyRoutes(strategy: strategy, depthMax: choices.storeLimits.depthMax)
                .add(to: &table)
            let figures = Overview.Sources(made.store, strategy, watches, operating.meters, metrics)
            OverviewRoutes(overview: Overview(figures, in: frame)).add(to: &table)
            SessionRoutes(access: access).add(to: &table)
            gate.open(choices.router(table))
            admin?.open(choices.router(table, isAdmin: true))
            server = if let early { early } else { try gate.listen(choices.http, in: frame) }
            state = ServiceState(choices, made, watches, operations, strategy, server, audit, frame)
            // After the gate and the port: clients of a ready service send requests.
            readiness.opens()
        } catch {
            early?.stop(within: .zero)
            admin?.stop()
            throw error
        }
    }

    /// Whether there are files that can change while the service runs.
    package var readsFiles: Bool { access != nil || certificate != nil }

    /// Reads the files of tokens and certificates again: now, or if they have changed.
    ///
    /// An invalid file leaves everything as it was; the log says so.
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

    /// Ends watches and long polls whose tokens no longer allow them.
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

    /// Reopens the audit log.
    package func reopenAudit() {
        audit?.reopen()
    }

    /// Shows that the service is not ready any more, and serves on.
    package func announceEnd() {
        readiness.drains()
    }

    /// Writes the state of the service to the log, a line for each part.
    ///
    /// Delays no request. Any thread.
    package func writeState(to log: Log) {
        state.write(to: log)
    }

    /// Stops listening, lets the requests in flight finish, writes all commits, and ends the
    /// service.
    ///
    /// Blocks for at most the configured time and a fraction of a second, unless the strategy
    /// blocks a thread that serves, or the disk is slow. Call it once.
    ///
    /// - Parameter time: The time for the requests in flight, instead of the configured one.
    /// - Returns: The outcome for the requests and the data.
    package func drain(within time: Duration? = nil) -> Drained {
        closing.end(within: time ?? drainTime)
    }
}
