internal import LatchkeyContention
internal import LatchkeyFrame
internal import LatchkeyMachine
internal import LatchkeyStore
internal import LatchkeyWatches

extension StoreRouteMaker {
    /// Makes the overview of the service, and adds its route.
    func overview(
        _ made: Made,
        _ strategy: ServingStrategy,
        in table: inout RouteTable
    ) -> Overview {
        let overview = Overview(overviewSources(made, strategy))
        OverviewRoutes(overview: overview).add(to: &table)
        return overview
    }

    private func overviewSources(
        _ made: Made,
        _ strategy: ServingStrategy
    ) -> Overview.Sources {
        let (store, watches, meters) = (made.store, watches, meters)
        let metrics = requests.table.metrics
        return Overview.Sources(
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
            }
        )
    }
}
