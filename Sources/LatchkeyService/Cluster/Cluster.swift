internal import Dispatch
internal import Foundation
internal import LatchkeyClient
internal import LatchkeyMachine
internal import LatchkeyMetrics
internal import LatchkeyPersistence
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// What makes a service a replica: its log, and what it knows of itself and the others.
///
/// First ``prepare(_:)``, then ``start(_:_:_:_:)``. Both block the main thread, before the service
/// serves.
///
/// **Design.** `started` is set once. A timer drives the replica, and says now and then what the
/// replica is doing.
final class Cluster: Sendable {
    private static let tickMilliseconds = 50
    /// How often the replica says what it is doing, in ticks.
    private static let recordTicks = 100
    /// How often it has etcd forget, on average.
    private static let compactionTicks = 1200

    let state: ClusterState
    let settings: ClusterSettings
    /// The folder with the data.
    private let folder: String
    let log: Log
    private let client: EtcdClient
    let directory: ClusterDirectory
    /// The rules that the log begins with.
    private let firstRules = Guarded(RuleLevel.first)
    /// `start` is the place that the files had when the replica started.
    private let started = Guarded<
        (replica: Replica, entries: EtcdLog, persistence: Persistence, start: LogPlace)?
    >(nil)
    private let tickCount = Guarded(0)
    /// What the log was told last.
    private let wasStale = Guarded(false)
    // SAFETY: it is not changed after `init`.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer

    /// Reads the files of the certificates.
    init(_ settings: ClusterSettings, folder: String, _ log: Log) throws(StartFailure) {
        self.settings = settings
        self.folder = folder
        self.log = log
        guard settings.isEncrypted || settings.servers.allSatisfy({ !$0.isEncrypted }) else {
            throw StartFailure(reason: "--cluster: write https:// for all members, or for none.")
        }
        guard settings.certificate.isEmpty == settings.key.isEmpty else {
            throw StartFailure(reason: "--cluster-certificate and --cluster-key need each other.")
        }
        do throws(ClientFailure) {
            // A token that cannot be read would keep the replica from a state much later.
            _ = try settings.client(of: ServiceAddress.example).connection()
        } catch {
            throw StartFailure(reason: error.message)
        }
        let trust = EtcdTrust(
            authorities: try Self.text(settings.authorities, "cluster-ca"),
            certificate: try Self.text(settings.certificate, "cluster-certificate"),
            key: try Self.text(settings.key, "cluster-key")
        )
        let client = EtcdClient(settings.servers, trust, first: Int.random(in: 0..<1000))
        self.client = client
        state = ClusterState(name: settings.name, trouble: { client.trouble })
        directory = ClusterDirectory(client, name: settings.name)
        unsafe timer = DispatchSource.makeTimerSource(
            queue: DispatchQueue(label: "latchkey.cluster")
        )
        unsafe timer.schedule(deadline: .now(), repeating: .milliseconds(Self.tickMilliseconds))
        unsafe timer.setEventHandler { [weak self] in self?.tick() }
        unsafe timer.activate()
    }

    deinit { unsafe timer.cancel() }

    private static func text(_ path: String, _ flag: String) throws(StartFailure) -> String? {
        guard !path.isEmpty else { return nil }
        do throws(AccessFileError) {
            return try WatchedFile(path: path).text().text
        } catch {
            throw StartFailure(reason: "--\(flag): \(error.message)")
        }
    }

    // MARK: Before the data is opened

    /// Compares the settings with those of the cluster, and gives an empty folder the state of
    /// another replica.
    ///
    /// - Returns: The revision before the first one of the cluster.
    /// - Throws: If the settings differ; and once a signal has come that ends the service.
    func prepare(_ configuration: ServiceConfiguration) throws(StartFailure) -> Revision {
        let own = ClusterAgreement(configuration)
        let common = try ask { self.directory.agree(on: own.encoded, completion: $0) }
        guard let agreement = ClusterAgreement(decoding: common) else {
            throw StartFailure(reason: "The settings of the cluster cannot be read.")
        }
        if let objection = agreement.objection(to: own) { throw StartFailure(reason: objection) }
        if let reason = DivergenceNote(folder: folder).reason {
            throw StartFailure(reason: reason)
        }
        firstRules.write { $0 = agreement.firstRules }
        if !Persistence.hasData(folder) { try seed() }
        return agreement.start
    }

    /// Takes the state of any other replica that has some, and waits for one if it must.
    ///
    /// The log can have forgotten its start, however little has happened. If it has not, it is
    /// executed from there without a state. No database is made before that is known, so that the
    /// next start looks for a state again.
    private func seed() throws(StartFailure) {
        let identity = Persistence.Identity()
        let seed = ClusterSeed(settings: settings, isCancelled: { EndingSignals.isPending })
        defer { state.seeds(nil) }
        // Each thing once, however often it is tried.
        var told: Set<String> = []
        while true {
            state.seeds("It takes the state of another replica.")
            let records = try ask { self.directory.records(completion: $0) }
            let unfit: Set = ["diverged", "too-late"]
            let peers = records.values.filter {
                $0.place > 0 && !$0.url.isEmpty && !unfit.contains($0.state)
            }
            var reason = "No other replica has said where it is (--cluster-url)."
            for peer in peers.sorted(by: { $0.place > $1.place }) {
                try endIfAsked()
                if told.insert(peer.url).inserted {
                    log.write(.info, "seeding", ["from": peer.url])
                }
                holdLog(at: peer.place, for: identity)
                guard let failure = seed.take(from: peer.url, into: folder, as: identity)
                else { return }
                reason = failure
                if told.insert(reason).inserted {
                    log.write(.warning, "not seeded", ["from": peer.url, "reason": reason])
                }
            }
            if try ask({ self.directory.hasStart(completion: $0) }) { return }
            state.seeds(
                "The log has forgotten its start, and no replica gives its state. \(reason) If the "
                    + "disks of all replicas are lost, start a new cluster with another "
                    + "--cluster-name, restore a backup, and import it."
            )
            if told.insert("").inserted { log.write(.warning, "cluster", state.logFields) }
            try pause(seconds: 1)
        }
    }

    /// Has the others keep the log for this replica, from the place of the state that it takes.
    private func holdLog(at place: UInt64, for identity: Persistence.Identity) {
        let isDone = DispatchSemaphore(value: 0)
        let record = ClusterDirectory.Record(
            url: "",
            place: place,
            revision: 0,
            state: "seeding",
            time: StoreClock.system.now().milliseconds,
            format: settings.rules.rawValue
        )
        // Without it, the replica learns later that it is too late.
        directory.say(record, of: identity.text) { _ in isDone.signal() }
        isDone.wait()
    }

    /// Asks etcd until it answers.
    private func ask<Answer: Sendable>(
        _ question: (
            @escaping @Sendable (Result<Answer, ClusterDirectory.Failure>) -> Void
        ) -> Void
    ) throws(StartFailure) -> Answer {
        var logged: String?
        while true {
            let outcome = Guarded<Result<Answer, ClusterDirectory.Failure>?>(nil)
            let isDone = DispatchSemaphore(value: 0)
            question { answer in
                outcome.write { $0 = answer }
                isDone.signal()
            }
            isDone.wait()
            switch outcome.read({ $0 }) {
            case .success(let answer): return answer
            case .failure(let failure):
                state.enters(.connecting(failure.reason))
                if logged != failure.reason {
                    log.write(.warning, "etcd does not answer", ["reason": failure.reason])
                    logged = failure.reason
                }
            case nil: preconditionFailure("A question is answered.")
            }
            try pause(seconds: 0.2)
        }
    }

    private func endIfAsked() throws(StartFailure) {
        guard !EndingSignals.isPending else {
            throw StartFailure(
                reason: "A signal ended the replica before it was level with the others.",
                isAsked: true
            )
        }
    }

    private func pause(seconds: Double) throws(StartFailure) {
        try endIfAsked()
        Thread.sleep(forTimeInterval: seconds)
    }

    // MARK: With the data

    /// Begins to execute the log behind the stored position, and waits until the state is level.
    ///
    /// - Throws: Once a signal has come that ends the service; and if it cannot go on.
    func start(
        _ box: ErasedStore,
        _ data: DurableData,
        _ journal: Journal,
        _ expiries: ExpiryQueue,
        _ keys: IdentityTable?
    ) throws(StartFailure) -> Replica {
        let position = try position(data.persistence)
        state.age.reaches(position.revision)
        var keys = keys
        guard
            position.unstoredKeys.isEmpty
                || keys?.restore(position.unstoredKeys, isStored: false) == true
        else { throw StartFailure(reason: Self.unreadablePosition) }
        keys?.expire(at: position.time)
        let entries = EtcdLog(client, key: directory.logKey)
        var replicaSettings = Replica.Settings(incarnation: UInt64.random(in: 1 ... .max))
        replicaSettings.known = settings.rules
        let replica = Replica(
            replicaSettings,
            log: entries,
            store: ExecutedStore(box, journal, expiries, data.persistence, state.age, keys),
            at: position,
            Replica.Clocks(
                nanoseconds: { StateAge.now() },
                calendar: { StoreClock.system.now() }
            ),
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
                        ["laterBytesMax": "\(byteCount)"]
                    )
                }
            )
        )
        started.write { $0 = (replica, entries, data.persistence, position.place) }
        replica.start()
        while replica.phase != .serving {
            if let reason = state.endReason { throw StartFailure(reason: reason) }
            try pause(seconds: 0.01)
        }
        return replica
    }

    private static let unreadablePosition =
        "The position in the log, in --data, is damaged or of a later version."

    private func position(_ persistence: Persistence) throws(StartFailure) -> LogPosition {
        let stored: [UInt8]?
        do throws(PersistenceFailure) {
            stored = try persistence.readPosition()
        } catch {
            throw StartFailure(reason: error.reason(isReplica: true))
        }
        guard let stored else {
            guard persistence.lastRevision == persistence.startRevision else {
                throw StartFailure(
                    reason: "--data has properties, and no place in the log of a cluster. Start "
                        + "with an empty folder. Import only what was never in this cluster: "
                        + "what a recovery has rescued of a replica is older than its state."
                )
            }
            return LogPosition(
                revision: persistence.startRevision,
                rules: firstRules.read { $0 }
            )
        }
        guard let position = LogPosition(decoding: stored), position.rules <= settings.rules else {
            throw StartFailure(reason: Self.unreadablePosition)
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
        guard let (replica, _, persistence, start) = started.read({ $0 }) else { return }
        replica.tick()
        tellIfStale(replica)
        let count = tickCount.write { count in
            count += 1
            return count
        }
        if count % Self.recordTicks == 1 { say(replica, persistence, start) }
        if Int.random(in: 0..<Self.compactionTicks) == 0 {
            directory.compact(at: StoreClock.system.now().milliseconds) { _ in }
        }
    }

    private func tellIfStale(_ replica: Replica) {
        let isStale = replica.phase == .serving && state.age.isStale
        let isChanged = wasStale.write { wasStale in
            defer { wasStale = isStale }
            return wasStale != isStale
        }
        guard isChanged else { return }
        log.write(isStale ? .warning : .info, "cluster", state.logFields)
    }

    private func say(_ replica: Replica, _ persistence: Persistence, _ start: LogPlace) {
        directory.say(record(replica, persistence, start), of: persistence.identity) { _ in }
        directory.records { [self] result in
            guard case .success(let records) = result else { return }
            state.hears(of: records)
            raiseRules(of: replica, records)
        }
    }

    private func record(
        _ replica: Replica,
        _ persistence: Persistence,
        _ start: LogPlace
    ) -> ClusterDirectory.Record {
        let stored = persistence.status.position.flatMap { LogPosition(decoding: $0) }
        // What is executed and not stored is needed again after a restart.
        return ClusterDirectory.Record(
            url: settings.url,
            place: (stored?.place ?? start).number,
            revision: replica.position.revision,
            state: state.word,
            time: StoreClock.system.now().milliseconds,
            format: settings.rules.rawValue
        )
    }

    /// What this replica says of itself now; nil before it has started.
    var ownRecord: (identity: String, record: ClusterDirectory.Record)? {
        started.read { $0 }.map { ($2.identity, record($0, $2, $3)) }
    }

    /// What this replica decides by now; nil before it has started.
    var rules: RuleLevel? { started.read { $0 }?.replica.position.rules }

    /// What the log takes; nil before the replica has started.
    var bounds: LogBounds? { started.read { $0 }?.replica.bounds }

    func register(in registry: MetricRegistry) {
        if let replica = started.read({ $0 })?.replica { state.register(replica, in: registry) }
    }

    /// Calls back when the state has all that was acknowledged anywhere before the call; with false
    /// if that cannot be known in time.
    func whenLevel(_ answer: @escaping @Sendable (Bool) -> Void) {
        guard let replica = started.read({ $0 })?.replica else { return answer(false) }
        replica.whenLevel(answer)
    }

    /// Takes no more changes.
    func drain() {
        started.read { $0 }?.replica.drain()
    }

    /// Uses etcd no more: what is executed now is all that is written.
    func stop() {
        unsafe timer.cancel()
        guard let (_, entries, persistence, _) = started.read({ $0 }) else { return }
        // What executes can wait for the disk, which may be full.
        persistence.takesAll()
        entries.stop()
    }
}
