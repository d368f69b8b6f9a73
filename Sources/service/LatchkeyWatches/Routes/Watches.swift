package import LatchkeyFrame
package import LatchkeyStore

/// The watches of a store, and the reads of its past.
package struct Watches: Sendable {
    package let hub: WatchHub
    package let watched: WatchedHistory
    package let history: HistoryRoutes

    package init(
        _ store: PropertyStore,
        _ journal: Journal,
        _ limits: WatchLimits,
        in frame: ServiceFrame
    ) {
        hub = WatchHub(journal, limits, in: frame)
        watched = WatchedHistory(store, journal)
        history = HistoryRoutes(watched: watched, hub: hub)
    }

    /// The step of reads that wait for a newer state.
    ///
    /// - Parameters:
    ///   - leader: Answers reads that only a leader can serve; nil unless the service was started
    ///     to follow another one.
    ///   - others: Nil if nothing is acknowledged anywhere else.
    /// - Returns: The step.
    package func reads(
        leader: FreshReads.LeaderRefusal?,
        others: (any SharedState)?
    ) -> FreshReads {
        FreshReads(hub: hub, journal: watched.journal, leader: leader, others: others)
    }

    package func add(to table: inout RouteTable) {
        history.add(to: &table)
        WatchRoutes(watched: watched, hub: hub).add(to: &table)
        WatchListRoutes(hub: hub, watched: watched).add(to: &table)
    }
}
