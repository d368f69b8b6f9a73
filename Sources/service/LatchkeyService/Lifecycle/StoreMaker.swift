internal import LatchkeyContention
internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyMetrics
internal import LatchkeyPersistence
internal import LatchkeyReplicas
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// Makes the store under the chosen strategy, with or without a meter, and loads it from the disk,
/// the leader or the log.
struct StoreMaker {
    private let configuration: ServiceConfiguration
    private let frame: ServiceFrame
    private let operating: OperatingRoutes
    private let readiness: Readiness
    private let failed: @Sendable () -> Void

    /// - Parameters:
    ///   - configuration: The choices.
    ///   - frame: The frame of the service.
    ///   - operating: Has the meters, and the profile.
    ///   - readiness: Is told how much of the data is read.
    ///   - failed: Called when the process has to end, because the disk is unreliable.
    init(
        _ configuration: ServiceConfiguration,
        _ frame: ServiceFrame,
        _ operating: OperatingRoutes,
        _ readiness: Readiness,
        failed: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.frame = frame
        self.operating = operating
        self.readiness = readiness
        self.failed = failed
    }

    struct Made {
        let store: PropertyStore
        let journal: Journal
        let expiries: ExpiryQueue
        /// Nil unless the service keeps its data.
        let persistence: Persistence?
        /// Puts changes into the log of a cluster; nil if the service is not a replica of one.
        let replicated: ReplicatedStore?
    }

    /// Blocks while the data are read, and until a leader or the others have answered.
    ///
    /// - Parameters:
    ///   - repetition: Gets the answers that are kept; nil if `Idempotency-Key` is switched off.
    ///   - follower: Nil unless the service follows another one.
    ///   - cluster: The cluster of this replica, or nil.
    /// - Returns: The store, and the parts that change it.
    /// - Throws: If the data, the leader or the log are not there, or a signal has ended the wait.
    func make(
        _ repetition: Repetition?,
        _ follower: Follower?,
        _ cluster: Cluster?
    ) throws(StartFailure) -> Made {
        let data = configuration.keepsData ? try configuration.openData(frame, cluster) : nil
        let seed = try follower?.seed()
        // The history has no compacted commits: 0 stands for the revision before them.
        let journal = Journal(
            configuration.historyLimits,
            after: data?.persistence.historyRevision ?? seed?.revision ?? configuration.chosenStart,
            // A replica does not know the first one, and no store begins before 0.
            start: data?.persistence.startRevision ?? (seed == nil ? nil : 0)
        )
        let expiries =
            cluster.map { cluster in
                ExpiryQueue(rules: { [weak cluster] in cluster?.rules ?? .first })
            } ?? ExpiryQueue()
        let evictor = Evictor()
        let parts = StoreParts(
            hook: data?.hook,
            refusal: data?.refusal,
            journal: journal,
            expiries: expiries,
            evictor: configuration.storeLimits.eviction == .lru ? evictor : nil
        )
        let store = PropertyStore(
            limits: configuration.storeLimits,
            stripeCount: configuration.strategy.traits.prefersOneStripe
                ? 1 : configuration.stripeCount,
            guards: guards,
            after: data?.persistence.storedRevision ?? journal.last,
            parts: parts
        )
        operating.meters.observeBacklog { store.backlogCount }
        StoreMetrics.register(store, expiries, evictor, in: frame.registry)
        addBounds(of: store, journal)
        var replicated: ReplicatedStore?
        if let data {
            let keys = try recover(store, data, journal, repetition, isReplica: cluster != nil)
            replicated = try cluster.map { cluster throws(StartFailure) in
                let replica = try cluster.start(store, data.persistence, journal, keys)
                cluster.register(in: frame.registry)
                return ReplicatedStore(store, replica, cluster.state.disks, parts.evictor) {
                    data.persistence.isLost
                }
            }
        }
        if let follower, let seed {
            let copy = LeaderCopy(store, journal, configuration.storeLimits)
            copy.replace(with: seed.properties, at: seed.revision)
            follower.start(copy, seed)
        }
        let committing: any CommittingStore = replicated ?? store
        // A follower removes nothing: its leader does.
        if follower == nil { expiries.start(store, by: replicated) }
        parts.evictor?.start(committing)
        return Made(
            store: store,
            journal: journal,
            expiries: expiries,
            persistence: data?.persistence,
            replicated: replicated
        )
    }

    private var guards: GuardSettings {
        let level = configuration.metering
        let (profile, meters) = (operating.profiles.profile, operating.meters)
        var guards = GuardSettings(configuration.strategy, backlogMax: configuration.backlogMax)
        if level != .off {
            guards.meter = { meters.serving($0, level: level, profile: profile) }
        }
        return guards
    }

    private func addBounds(of store: PropertyStore, _ journal: Journal) {
        let (bounds, limits) = (frame.bounds, configuration.storeLimits)
        let effect: ServiceBounds.Effect = limits.eviction == .refuse ? .refuses : .forgets
        bounds.add("max-properties", limits.propertyCountMax, effect) { store.usage.propertyCount }
        bounds.add("max-bytes", limits.byteCountMax, effect) { store.usage.byteCount }
        bounds.add(quotas: { store.quotaUsage })
        bounds.add("backlog", configuration.backlogMax) { store.fullestBacklog }
        bounds.add("history-bytes", configuration.historyLimits.byteCountMax, .forgets) {
            journal.usage.byteCount
        }
    }

    /// Gives the store the data on the disk.
    ///
    /// - Returns: The keys of requests that all replicas of a cluster know.
    private func recover(
        _ store: PropertyStore,
        _ data: DurableData,
        _ journal: Journal,
        _ repetition: Repetition?,
        isReplica: Bool
    ) throws(StartFailure) -> IdentityTable? {
        var keys = isReplica ? configuration.idempotency.table(isReplicated: true) : nil
        do throws(PersistenceFailure) {
            try data.recover(store, journal: journal, readiness: readiness)
            if isReplica { try data.restore(&keys) } else { try data.restore(repetition) }
            try data.start(
                journal: journal,
                keysLiveFor: configuration.idempotency.time,
                isGrouped: isReplica,
                failed: failed
            )
        } catch {
            let reason = error.reason(isReplica: isReplica)
            throw StartFailure(reason: reason, isAsked: error.code == .stopped)
        }
        readiness.recovered(
            journal: { data.check },
            isHeld: { data.persistence.unavailability == .full }
        )
        data.register(in: frame, logByteCountMax: configuration.persistence.logByteCountMax)
        return keys
    }
}

extension PropertyStore {
    /// The writes that wait for the stripe with the most; nil while each one is applied before its
    /// call returns.
    var fullestBacklog: Int? {
        kind.traits.appliesWritesAsynchronously ? fullestBacklogCount : nil
    }
}
