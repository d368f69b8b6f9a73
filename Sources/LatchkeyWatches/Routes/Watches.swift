package import LatchkeyFrame
package import LatchkeyStore

/// The watches of a store, and the reads of its past.
package struct Watches: Sendable {
    package let hub: WatchHub
    package let store: WatchedStore
    package let history: HistoryRoutes

    package init(
        _ store: PropertyStore,
        _ journal: Journal,
        _ limits: WatchLimits,
        in frame: ServiceFrame
    ) {
        hub = WatchHub(journal, limits, in: frame)
        self.store = WatchedStore(store, journal)
        history = HistoryRoutes(store: self.store, hub: hub)
    }

    /// The step of reads that wait for a newer state.
    ///
    /// - Parameters:
    ///   - leader: Answers what only a leader knows; nil unless the service was started to follow
    ///     another one.
    ///   - others: Nil if nothing is acknowledged anywhere else.
    /// - Returns: The step.
    package func reads(
        leader: FreshReads.LeaderRefusal?,
        others: (any SharedState)?
    ) -> FreshReads {
        FreshReads(hub: hub, journal: store.journal, leader: leader, others: others)
    }

    package func add(to table: inout RouteTable) {
        history.add(to: &table)
        WatchRoutes(store: store, hub: hub).add(to: &table)
        WatchListRoutes(hub: hub, store: store).add(to: &table)
    }
}
