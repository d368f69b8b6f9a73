internal import LatchkeyContention
internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyOperations
internal import LatchkeyPersistence
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import LatchkeyWatches

/// Makes the store under the chosen strategy, with or without a meter, and its routes.
struct StoreRouteMaker {
    let configuration: ServiceConfiguration
    let meters: ContentionMeters
    let profile: ContentionProfile?
    let recorder: TraceRecorder?
    let readiness: Readiness
    let data: DurableData?
    let requests: RequestParts
    let journal: Journal
    let expiries: ExpiryQueue
    let evictor = Evictor()
    let watches: WatchHub
    let exports: SharedPlaces
    /// The follower, and the leader's state, of a replica.
    let following: (follower: Follower, seed: Follower.Seed)?
    /// What makes the service a replica of a cluster.
    let cluster: Cluster?
    /// Called when the process has to end, since the disk cannot be relied upon.
    let failed: @Sendable () -> Void

    struct Made {
        let table: RouteTable
        let store: PropertyStore
        let operations: Operations
    }

    init(
        configuration: ServiceConfiguration,
        meters: ContentionMeters,
        profile: ContentionProfile?,
        registry: MetricRegistry,
        answers: AnswerBudget,
        recorder: TraceRecorder?,
        data: DurableData?,
        readiness: Readiness,
        requests: RequestParts,
        following: (follower: Follower, seed: Follower.Seed)?,
        cluster: Cluster?,
        failed: @escaping @Sendable () -> Void
    ) {
        self.failed = failed
        self.following = following
        self.cluster = cluster
        var configuration = configuration
        configuration.storeLimits.valueByteCountMax = configuration.http.bodyBytesMax
        self.configuration = configuration
        self.meters = meters
        self.profile = profile
        self.recorder = recorder
        self.readiness = readiness
        self.data = data
        self.requests = requests
        let start =
            data?.persistence.historyRevision ?? following?.seed.revision
            ?? configuration.chosenStart
        // What was compacted is not in the history: 0 stands for the revision before that.
        journal = Journal(
            configuration.historyLimits,
            after: start,
            // A replica does not know the first one, and no store begins before 0.
            start: data?.persistence.startRevision ?? (following == nil ? nil : 0)
        )
        expiries =
            cluster.map { cluster in
                ExpiryQueue(rules: { [weak cluster] in cluster?.rules ?? .first })
            } ?? ExpiryQueue()
        watches = WatchHub(
            journal: journal,
            limits: configuration.watchLimits,
            places: configuration.watchPlaces(registry),
            counters: WatchCounters(registry),
            answers: answers
        )
        exports = configuration.exportPlaces(registry)
    }

    /// Makes the store, with what it has from the disk, the leader or the log, and its routes.
    func make() throws(StartFailure) -> Made {
        let store = PropertyStore(
            limits: configuration.storeLimits,
            stripeCount: configuration.strategy.traits.prefersOneStripe
                ? 1 : configuration.stripeCount,
            guards: guards,
            after: data?.persistence.storedRevision ?? journal.last,
            parts: parts
        )
        meters.observeBacklog { store.backlogCount }
        let replicated = try data.map { data throws(StartFailure) in try recover(store, data) }
        follow(store)
        let committing: any CommittingStore = replicated.flatMap { $0 } ?? store
        expiries.start(committing)
        parts.evictor?.start(committing)
        // They came by no commit.
        if data != nil { expiries.rebuild() }
        return serve(
            store,
            ServedStore(store, replicated: replicated.flatMap { $0 }, recorder: recorder)
        )
    }

    private var guards: GuardSettings {
        let (level, profile, meters) = (configuration.metering, profile, meters)
        var guards = GuardSettings(configuration.strategy, backlogMax: configuration.backlogMax)
        if level != .off {
            guards.meter = { meters.serving($0, level: level, profile: profile) }
        }
        return guards
    }

    private var parts: StoreParts {
        StoreParts(
            hook: data?.hook,
            refusal: data?.refusal,
            journal: journal,
            expiries: expiries,
            evictor: configuration.storeLimits.eviction == .lru ? evictor : nil
        )
    }

    /// Gives a replica's store the leader's state, and has it follow.
    private func follow(_ store: PropertyStore) {
        guard let (follower, seed) = following else { return }
        let followed = FollowedStore(store, journal, configuration.storeLimits)
        followed.replace(with: seed.properties, at: seed.revision)
        follower.start(followed, seed)
    }

    /// Nil unless the service follows.
    private var promotion: (@Sendable (@escaping @Sendable (Revision?) -> Void) -> Void)? {
        guard let follower = following?.follower else { return nil }
        return { [expiries] completion in
            follower.promote { revision in
                // They came by no commit of this service. From now on it removes what expires.
                if revision != nil { expiries.rebuild() }
                completion(revision)
            }
        }
    }

    /// Gives the store what is on the disk, and, in a cluster, what the log has behind it.
    ///
    /// - Returns: What puts changes into the log of a cluster.
    private func recover(
        _ store: PropertyStore,
        _ data: DurableData
    ) throws(StartFailure) -> ClusteredStore? {
        var keys = IdentityTable(configuration.idempotency)
        do throws(PersistenceFailure) {
            try data.recover(store, journal: journal, readiness: readiness)
            if cluster == nil {
                try data.restore(requests.repetition)
            } else {
                try data.restore(&keys)
            }
            try data.start(
                journal: journal,
                keysLiveFor: configuration.idempotency.time,
                isGrouped: cluster != nil,
                failed: failed
            )
        } catch {
            let reason = error.reason(isReplica: cluster != nil)
            throw StartFailure(reason: reason, isAsked: error.code == .stopped)
        }
        readiness.recovered(
            journal: { data.check },
            isHeld: { data.persistence.unavailability == .full }
        )
        guard let cluster else { return nil }
        return ClusteredStore(
            base: store,
            replica: try cluster.start(store, data, journal, keys),
            isLost: { data.persistence.isLost },
            disks: cluster.state.disks,
            evictor: parts.evictor
        )
    }

    private func serve(_ store: PropertyStore, _ serving: ServedStore) -> Made {
        let watched = WatchedStore(store, journal)
        var table = requests.table
        var refusal: FreshReads.LeaderRefusal?
        if let leader = following?.follower.state {
            refusal = { leader.refusesLinearizable($0) }
        }
        let reads = FreshReads(
            hub: watches,
            journal: journal,
            leader: refusal,
            others: cluster
        )
        table.steps.append(reads, to: [.read])
        let depthMax = configuration.storeLimits.depthMax
        let history = HistoryRoutes(store: watched, hub: watches)
        PropertyRoutes(store: serving, depthMax: depthMax, history: history).add(to: &table)
        TransactionRoutes(store: serving, watched: watched, hub: watches, depthMax: depthMax)
            .add(to: &table)
        ListRoutes(store: serving, watched: watched).add(to: &table)
        history.add(to: &table)
        WatchRoutes(store: watched, hub: watches).add(to: &table)
        WatchListRoutes(hub: watches, store: watched).add(to: &table)
        PromoteRoute(promote: promotion).add(to: &table)
        ClusterRoutes(cluster: cluster, follow: following?.follower.state).add(to: &table)
        let operations = Operations(configuration, store: serving, audit: requests.audit)
        OperationRoutes(
            operations: operations,
            access: requests.access,
            fetching: configuration.fetching,
            canCompare: configuration.compare != nil,
            depthMax: depthMax
        ).add(to: &table)
        let exporting = ExportQueue(places: exports)
        ExportRoutes(store: serving, journal: journal, exports: exporting).add(to: &table)
        BackupRoutes(
            folder: configuration.persistence.path,
            data?.persistence,
            exports: exporting,
            cluster: cluster?.state
        ).add(to: &table)
        ImportRoutes(
            store: serving,
            depthMax: depthMax,
            lineByteCountMax: configuration.http.bodyBytesMax,
            unitsMax: configuration.storeLimits.changeUnitsMax,
            batchByteCountMax: (cluster?.bounds ?? LogBounds()).entryByteCountMax,
            places: configuration.importPlaces
        ).add(to: &table)
        return Made(table: table, store: store, operations: operations)
    }
}

extension PropertyStore {
    /// The writes that wait for the stripe with the most; nil while each one is applied before its
    /// call returns.
    var fullestBacklog: Int? {
        kind.traits.appliesWritesAsynchronously ? fullestBacklogCount : nil
    }
}
