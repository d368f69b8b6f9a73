internal import LatchkeyContention
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyOperations
internal import LatchkeyPersistence
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// Makes the store under the chosen strategy, with or without a meter, and its routes.
struct StoreRouteMaker: StrategyVisitor {
    let configuration: ServiceConfiguration
    let meters: ContentionMeters
    let profile: ContentionProfile?
    let recorder: TraceRecorder?
    let readiness: Readiness
    let data: DurableData?
    let table: RouteTable
    let journal: Journal
    let expiries: ExpiryQueue
    let evictor = Evictor()
    let watches: WatchHub
    let exports: SharedPlaces
    /// The follower, and the leader's state, of a replica.
    let following: (follower: Follower, seed: Follower.Seed)?
    /// What makes the service a replica of a cluster.
    let cluster: Cluster?

    typealias Output = Result<Made, StartFailure>

    struct Made {
        let table: RouteTable
        let usage: @Sendable () -> StoreUsage
        let operations: Operations
        let quotaUsage: @Sendable () -> [QuotaUsage]
        /// The writes that wait for the stripe with the most; nil if the strategy applies each one
        /// before it returns.
        var fullestBacklog: (@Sendable () -> Int)?
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
        table: RouteTable,
        following: (follower: Follower, seed: Follower.Seed)?,
        cluster: Cluster?
    ) {
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
        self.table = table
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

    func visit<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Output {
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
            return serve({ ChosenStrategy(backlogMax: backlogMax) }, meter: nil)
        }
        let meter = ContentionMeter(strategy, level: configuration.metering, profile: profile)
        meter.overhead = overhead
        meters.add(meter)
        return serve({ meter.meteredStripe(ChosenStrategy(backlogMax: backlogMax)) }, meter: meter)
    }

    /// Serves a store in memory, or one whose data is kept.
    private func serve<ChosenStrategy: Strategy>(
        _ strategy: () -> ChosenStrategy,
        meter: ContentionMeter?
    ) -> Output {
        let limits = configuration.storeLimits
        let stripeCount = configuration.stripeCount(ChosenStrategy.self)
        let isAsynchronous = ChosenStrategy.traits.appliesWritesAsynchronously
        guard let data else {
            let store = PropertyStore(
                limits: limits,
                stripeCount: stripeCount,
                strategy: strategy,
                after: journal.last
            )
            meter?.observeBacklog { store.backlogCount }
            follow(store)
            var made = serve(store, { store.usage }, quotaUsage: { store.quotaUsage })
            if isAsynchronous { made.fullestBacklog = { store.fullestBacklogCount } }
            return .success(made)
        }
        let store = HookedStore(
            limits: limits,
            stripeCount: stripeCount,
            strategy: strategy,
            after: data.persistence.storedRevision,
            hook: data.hook
        )
        meter?.observeBacklog { store.backlogCount }
        return serve(ErasedStore(store), data).map { made in
            var made = made
            if isAsynchronous { made.fullestBacklog = { store.fullestBacklogCount } }
            return made
        }
    }

    /// Gives a replica's store the leader's state, and has it follow.
    private func follow(_ store: PropertyStore<some Strategy>) {
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

    private func serve(
        _ box: ErasedStore,
        _ data: DurableData
    ) -> Output {
        var keys = IdentityTable(configuration.idempotency)
        do throws(PersistenceFailure) {
            try data.recover(box, journal: journal, readiness: readiness)
            if cluster == nil {
                try data.restore(table.repetition)
            } else {
                try data.restore(&keys)
            }
            try data.start(
                box,
                journal: journal,
                keysLiveFor: configuration.idempotency.time,
                isGrouped: cluster != nil
            )
        } catch {
            let reason = error.reason(isReplica: cluster != nil)
            return .failure(StartFailure(reason: reason, isAsked: error.code == .stopped))
        }
        readiness.recovered(data.persistence)
        if let cluster { return serve(box, data, cluster, keys) }
        let persistence = data.persistence
        let store = DurableStore(
            box: box,
            acceptsWrites: { persistence.acceptsWrites },
            isLost: { persistence.isLost }
        )
        let made = serve(store, box.usage, quotaUsage: box.quotaUsage)
        // They came by no commit.
        expiries.rebuild()
        return .success(made)
    }

    private func serve(
        _ box: ErasedStore,
        _ data: DurableData,
        _ cluster: Cluster,
        _ keys: IdentityTable?
    ) -> Output {
        do throws(StartFailure) {
            let replica = try cluster.start(box, data, journal, expiries, keys)
            let store = ClusteredStore(
                box: box,
                replica: replica,
                isLost: { data.persistence.isLost }
            )
            let made = serve(
                store,
                box.usage,
                quotaUsage: box.quotaUsage,
                isJournaled: true
            )
            expiries.rebuild()
            return .success(made)
        } catch {
            return .failure(error)
        }
    }

    /// All that is compiled for the strategy of a store in memory: few closures, which the rest
    /// uses.
    private func serve(
        _ store: some CommittingStore,
        _ usage: @escaping @Sendable () -> StoreUsage,
        quotaUsage: @escaping @Sendable () -> [QuotaUsage],
        isJournaled: Bool = false
    ) -> Made {
        let journaled = JournaledStore(
            store,
            journal: isJournaled ? nil : journal,
            expiries: expiries,
            evictor: configuration.storeLimits.eviction == .lru ? evictor : nil
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
        return serve(ServedStore(journaled, recorder: recorder), watched, quotaUsage)
    }

    private func serve(
        _ serving: ServedStore,
        _ watched: WatchedStore,
        _ quotaUsage: @escaping @Sendable () -> [QuotaUsage]
    ) -> Made {
        var table = table
        table.reads = FreshReads(
            hub: watches,
            journal: journal,
            follow: following?.follower.state,
            cluster: cluster
        )
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
        let operations = Operations(
            configuration,
            store: serving,
            audit: table.metrics.audit
        )
        OperationRoutes(
            operations: operations,
            access: table.admission.access,
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
        return Made(
            table: table,
            usage: watched.usage,
            operations: operations,
            quotaUsage: quotaUsage
        )
    }
}

extension ServiceConfiguration {
    /// One for a strategy that prefers it: an actor.
    fileprivate func stripeCount<ChosenStrategy: Strategy>(_ strategy: ChosenStrategy.Type) -> Int {
        strategy.traits.prefersOneStripe ? 1 : stripeCount
    }
}
