internal import Dispatch
internal import Foundation
internal import LatchkeyClient
package import LatchkeyFrame
internal import LatchkeyMachine
package import LatchkeyMetrics
package import LatchkeyPersistence
package import LatchkeyReplication
package import LatchkeyStore
internal import LatchkeyStrategies

/// The cluster part of a service that is a replica: its log, and what it knows of itself and the
/// others.
///
/// First ``prepare(_:)``, then ``start(_:_:_:_:)``. Both block the main thread, before the service
/// serves.
///
/// **Design.** `started` is set once. A timer drives the replica, and now and then exchanges
/// records.
package final class Cluster: Sendable {
    private static let tickMilliseconds = 50
    /// The mean number of ticks between two compactions of etcd.
    private static let compactionTicks = 1200

    /// The parts that run once the data are open.
    struct Started: Sendable {
        let replica: Replica
        let entries: EtcdLog
        let persistence: Persistence
        /// The place that the files had when the replica started.
        let start: LogPlace
    }

    package let state: ClusterState
    let settings: ClusterSettings
    /// The folder with the data.
    let folder: String
    let log: Log
    let client: EtcdClient
    let directory: ClusterDirectory
    /// The addresses and certificates that the client has.
    let access: Guarded<EtcdAccess>
    /// The settings that all replicas share; nil until they are known.
    let agreement = Guarded<ClusterAgreement?>(nil)
    let started = Guarded<Started?>(nil)
    /// The number that tells this process from others with the same data.
    let process = CopyWatch.number(at: StoreClock.system.now())
    let copies = Guarded(CopyWatch())
    /// Entered while records are exchanged.
    let saying = DispatchGroup()
    private let schedule = Guarded(RecordSchedule())
    private let watch = Guarded(Watch())
    let queue = DispatchQueue(label: "latchkey.cluster")
    // SAFETY: it is not changed after `init`.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer

    /// The facts that were logged last.
    private struct Watch: Sendable {
        var isStale = false
        var isMostFull = false
        var troubles = EtcdTroubleLog()
        var strangers: [String] = []
    }

    /// Reads the files of the certificates.
    package init(_ settings: ClusterSettings, folder: String, _ log: Log) throws(StartFailure) {
        self.settings = settings
        self.folder = folder
        self.log = log
        let access = try EtcdAccess(settings)
        // Otherwise an unreadable token would fail much later, when the replica takes a state.
        try settings.peers.check()
        let client = EtcdClient(access.servers, access.trust, first: Int.random(in: 0..<1000))
        self.client = client
        self.access = Guarded(access)
        state = ClusterState(name: settings.name, etcd: { client.report })
        directory = ClusterDirectory(client, name: settings.name)
        unsafe timer = DispatchSource.makeTimerSource(queue: queue)
        unsafe timer.schedule(deadline: .now(), repeating: .milliseconds(Self.tickMilliseconds))
        unsafe timer.setEventHandler { [weak self] in self?.tick() }
        unsafe timer.activate()
    }

    deinit { unsafe timer.cancel() }

    /// Reads the files of addresses and certificates again.
    ///
    /// If a file is wrong, nothing changes; the log says so.
    package func reload() {
        do throws(StartFailure) {
            let now = try EtcdAccess(settings)
            guard access.read({ $0 != now }) else { return }
            try checkCluster(of: now)
            access.write { $0 = now }
            client.use(now.servers, now.trust)
            let servers = now.servers.map(\.text).joined(separator: ",")
            log.write(.info, "etcd's addresses and certificates read", ["etcd": servers])
        } catch {
            log.write(
                .error,
                "etcd's addresses and certificates not read",
                ["reason": error.reason]
            )
        }
    }

    /// Addresses of another etcd would end the replica for good.
    private func checkCluster(of access: EtcdAccess) throws(StartFailure) {
        guard let cluster = client.expectedCluster else { return }
        let answers = Self.wait {
            client.survey(
                key: directory.logKey,
                of: (access.servers, access.trust),
                completion: $0
            )
        }
        let clusters = Set(answers.compactMap { try? $0.get() })
        guard clusters.isEmpty || clusters.contains(cluster) else {
            throw StartFailure(
                reason: "--cluster: the addresses are of another cluster of etcd, "
                    + clusters.map(\.hexadecimal).sorted().joined(separator: ", ")
                    + ", and the log is in \(cluster.hexadecimal)."
            )
        }
    }

    // MARK: With the data

    /// Begins to execute the log after the stored position, and waits until the state is up to
    /// date.
    ///
    /// - Throws: Once a signal has come that ends the service; and if it cannot go on.
    package func start(
        _ store: PropertyStore,
        _ persistence: Persistence,
        _ journal: Journal,
        _ keys: IdentityTable?
    ) throws(StartFailure) -> Replica {
        let position: LogPosition
        do throws(StartFailure) {
            position = try self.position(persistence)
        } catch {
            throw refused(persistence, error.reason)
        }
        state.age.reaches(position.revision)
        var keys = keys
        guard
            position.unstoredKeys.isEmpty
                || keys?.restore(position.unstoredKeys, isStored: false) == true
        else { throw StartFailure(reason: Self.unreadablePosition) }
        keys?.expire(at: position.time)
        let entries = EtcdLog(client, key: directory.logKey, log: identity(at: position))
        var replicaSettings = Replica.Settings(incarnation: UInt64.random(in: 1 ... .max))
        replicaSettings.known = settings.rules
        replicaSettings.requestByteCountMax = try requestByteCountMax()
        let replica = Replica(
            replicaSettings,
            log: entries,
            store: LogExecution(store, journal, persistence, state, keys),
            at: position,
            Replica.Clocks(
                nanoseconds: { StateAge.now() },
                calendar: { StoreClock.system.now() }
            ),
            callbacks
        )
        let started = Started(
            replica: replica,
            entries: entries,
            persistence: persistence,
            start: position.place
        )
        state.awaitsLife(LifeNote(folder: folder).isThere)
        self.started.write { $0 = started }
        replica.start()
        while replica.phase != .serving {
            try endIfStopped(started)
            try pause(seconds: 0.01)
        }
        try beginLife(started)
        return replica
    }

    private var callbacks: Replica.Callbacks {
        Replica.Callbacks(
            isLevel: { [state] in state.age.isLevel(since: $0) },
            changed: { [state, log, folder] phase in
                state.enters(phase)
                log.write(phase.isFinal ? .error : .info, "cluster", state.logFields)
                guard case .differs(let reason) = phase else { return }
                DivergenceNote(folder: folder).write(reason, log)
            },
            advanced: { StoreClock.advance(to: $0) },
            shortened: { [log] byteCount in
                log.write(
                    .warning,
                    "etcd refuses an entry as too large",
                    [
                        "laterBytesMax": "\(byteCount)",
                        "advice": "start etcd with a larger --max-request-bytes",
                    ]
                )
            },
            // Before another replica starts: else that one would accept a log that was deleted and
            // made again.
            identified: { [weak self] in
                guard let self, let started = started.read({ $0 }) else { return }
                completeAgreement(started.replica)
            }
        )
    }

    /// The longest request that etcd takes; nil if it does not say it after some questions.
    private func requestByteCountMax() throws(StartFailure) -> Int? {
        for _ in 0..<3 {
            if let byteCount = Self.wait({ client.requestByteCountMax(completion: $0) }) {
                return byteCount
            }
            try pause(seconds: 0.2)
        }
        let advice = "entries have the length of etcd's default, --max-request-bytes 1572864"
        log.write(
            .warning,
            "etcd does not say how long a request can be",
            ["advice": advice]
        )
        return nil
    }

    /// The known identity of the log: from the position, completed from the agreement.
    private func identity(at position: LogPosition) -> LogIdentity? {
        let agreed = agreement.read { $0?.log }
        guard var log = position.log else { return agreed }
        if log.etcd == agreed?.etcd { log.created = log.created ?? agreed?.created }
        return log
    }

    /// Throws if the replica has stopped, which ends the process.
    func endIfStopped(_ started: Started) throws(StartFailure) {
        guard let reason = state.endReason else { return }
        throw started.replica.phase.needsLog
            ? StartFailure(reason: reason) : refused(started.persistence, reason)
    }

    /// The record stays, and the log is kept: a later version can go on with the folder.
    static let unreadablePosition =
        "The position in the log, in --data, is damaged or of a later version."

    /// The position that the files have; nil if they have none.
    func storedPosition(_ persistence: Persistence) throws(StartFailure) -> LogPosition? {
        let stored: [UInt8]?
        do throws(PersistenceFailure) {
            stored = try persistence.readPosition()
        } catch {
            throw StartFailure(reason: error.reason(isReplica: true))
        }
        guard let stored else { return nil }
        guard let position = LogPosition(decoding: stored), position.rules <= settings.rules else {
            throw StartFailure(reason: Self.unreadablePosition)
        }
        return position
    }

    private func position(_ persistence: Persistence) throws(StartFailure) -> LogPosition {
        guard let position = try storedPosition(persistence) else {
            guard persistence.lastRevision == persistence.startRevision else {
                throw StartFailure(
                    reason: "--data has properties, and no place in the log of a cluster. Start "
                        + "with an empty folder. Import only what was never in this cluster: "
                        + "what a recovery has rescued of a replica is older than its state."
                )
            }
            return LogPosition(
                revision: persistence.startRevision,
                rules: agreement.read { $0?.firstRules } ?? .first
            )
        }
        guard position.revision == persistence.lastRevision else {
            throw StartFailure(
                reason: "--data has revision \(persistence.lastRevision), and was at "
                    + "\(position.revision) when it left the cluster: a service without --cluster "
                    + "has changed it. Move it away, since the cluster does not have these "
                    + "changes, and start with an empty folder: the replica takes the state of "
                    + "another one."
            )
        }
        return position
    }

    private func tick() {
        guard let started = started.read({ $0 }) else { return }
        started.replica.tick()
        state.disks.sees(started.persistence.unavailability, isStale: state.age.isStale)
        tell(started.replica)
        let (isFull, isAnyFull) = (state.disks.isOwnFull, state.disks.isAnyFull)
        let isDue = schedule.write {
            $0.isDue(isFull: isFull, isAnyFull: isAnyFull) { storedPlace(started) }
        }
        if isDue { exchangeRecords(started) }
        if Int.random(in: 0..<Self.compactionTicks) == 0 {
            directory.compact(at: StoreClock.system.now().milliseconds) { _ in }
        }
    }

    /// Writes to the log what has changed: that the state is stale, that most disks are full, and
    /// why etcd refuses calls.
    private func tell(_ replica: Replica) {
        let isStale = replica.phase == .serving && state.age.isStale
        let report = state.etcd()
        let isMostFull = state.disks.isMostFull
        let (isChanged, lines, strangers) = watch.write { watch in
            defer {
                (watch.isStale, watch.isMostFull) = (isStale, isMostFull)
                watch.strangers = report.strangers
            }
            let strangers = report.strangers.filter { !watch.strangers.contains($0) }
            let isChanged = (watch.isStale, watch.isMostFull) != (isStale, isMostFull)
            return (isChanged, watch.troubles.lines(report.troubles), strangers)
        }
        if isChanged {
            let isWorse = isStale || isMostFull
            log.write(isWorse ? .warning : .info, "cluster", state.logFields)
        }
        for reason in strangers {
            log.write(.warning, "a member of etcd is passed over", ["reason": reason])
        }
        for line in lines {
            let use = ("use", line.use.rawValue)
            if let reason = line.reason {
                log.write(.warning, "etcd has failed", [use, ("reason", reason)])
            } else {
                log.write(.info, "etcd answers again", [use])
            }
        }
    }

    /// The rules that this replica decides by now; nil before it has started.
    package var rules: RuleLevel? { started.read { $0 }?.replica.position.rules }

    /// The limits of the log; nil before the replica has started.
    package var bounds: LogBounds? { started.read { $0 }?.replica.bounds }

    /// The cluster ID of the etcd whose log it executes; nil as long as that is not known.
    var etcd: UInt64? {
        started.read { $0 }?.replica.position.log?.etcd ?? agreement.read { $0?.log?.etcd }
    }

    package func register(in registry: MetricRegistry) {
        if let replica = started.read({ $0 })?.replica { state.register(replica, in: registry) }
    }

    /// Calls back when the state has all that was acknowledged anywhere before the call; with false
    /// if that cannot be known in time.
    package func whenLevel(_ answer: @escaping @Sendable (Bool) -> Void) {
        guard let replica = started.read({ $0 })?.replica else { return answer(false) }
        replica.whenLevel(answer)
    }

    /// Takes no more changes.
    package func drain() {
        started.read { $0 }?.replica.drain()
    }

    /// Stops using etcd: only entries that are executed by now are written.
    package func stop() {
        unsafe timer.cancel()
        guard let started = started.read({ $0 }) else { return }
        // The executing thread may wait for a full disk.
        started.persistence.takesAll()
        started.entries.stop()
    }
}
