internal import LatchkeyAccess
internal import LatchkeyContention
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyOperations
internal import LatchkeyPersistence
internal import LatchkeyReplicas
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyWatches

extension ServiceConfiguration {
    /// Adds the routes of properties: one, some, all.
    ///
    /// - Parameters:
    ///   - store: The store, as requests use it.
    ///   - made: The same store, and the parts it was made with.
    ///   - watches: The watches of the store.
    ///   - cluster: The cluster of this replica, or nil.
    ///   - frame: The frame of the service.
    ///   - table: The table.
    func addStoreRoutes(
        _ store: ServedProperties,
        _ made: StoreMaker.Made,
        _ watches: Watches,
        _ cluster: Cluster?,
        in frame: ServiceFrame,
        to table: inout RouteTable
    ) {
        let depthMax = storeLimits.depthMax
        PropertyRoutes(store: store, depthMax: depthMax, history: watches.history).add(to: &table)
        TransactionRoutes(
            store: store,
            watched: watches.watched,
            hub: watches.hub,
            depthMax: depthMax
        ).add(to: &table)
        let lists = ListRoutes(store: store, watched: watches.watched)
        lists.add(to: &table)
        FlagRoutes(store: store, lists: lists, depthMax: depthMax).add(to: &table)
        let exports = ExportQueue(exportCountMax, in: frame)
        ExportRoutes(store: store, journal: made.journal, exports: exports).add(to: &table)
        BackupRoutes(
            folder: persistence.path,
            made.persistence,
            exports: exports,
            cluster: cluster?.state
        ).add(to: &table)
        ImportRoutes(
            store: store,
            depthMax: depthMax,
            lineByteCountMax: http.bodyBytesMax,
            unitsMax: storeLimits.changeUnitsMax,
            batchByteCountMax: (cluster?.bounds ?? LogBounds()).entryByteCountMax,
            // Without a place, an import is slower, not refused.
            places: frame.places(ImportBuffer.longCountMax)
        ).add(to: &table)
    }
}

extension OperatingRoutes {
    init(_ configuration: ServiceConfiguration, _ readiness: Readiness, in frame: ServiceFrame) {
        let meters = ContentionMeters()
        meters.register(in: frame.registry)
        ProcessMetrics.register(in: frame.registry, configuration.program)
        let profile = configuration.isProfiling ? ContentionProfile() : nil
        self.init(
            meters: meters,
            profiles: ProfileRoutes(profile, in: frame),
            registry: frame.registry,
            context: Fingerprint.Context(configuration),
            readiness: readiness,
            program: configuration.program
        )
    }
}

extension OperationRoutes {
    init(_ operations: Operations, _ access: AccessControl?, _ configuration: ServiceConfiguration)
    {
        self.init(
            operations: operations,
            access: access,
            fetching: configuration.fetching,
            canCompare: configuration.compare != nil,
            depthMax: configuration.storeLimits.depthMax
        )
    }
}
