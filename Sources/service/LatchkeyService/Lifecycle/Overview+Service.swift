internal import LatchkeyContention
internal import LatchkeyFrame
internal import LatchkeyMachine
internal import LatchkeyStore
internal import LatchkeyWatches

extension Overview.Sources {
    /// The figures of a service.
    init(
        _ store: PropertyStore,
        _ strategy: ServingStrategy,
        _ watches: WatchHub,
        _ meters: ContentionMeters,
        _ metrics: RequestMetrics
    ) {
        self.init(
            requests: { metrics.totals },
            acquisitions: { meters.servingCounts },
            gauges: {
                let now = store.usage
                return Overview.Gauges(
                    strategy: strategy.kind,
                    revision: now.revision,
                    properties: now.propertyCount,
                    bytes: now.byteCount,
                    watchers: watches.watcherCount,
                    memoryBytes: ProcessReading.residentByteCount
                )
            },
            traffic: { metrics.traffic?.reading(for: $0) }
        )
    }
}
