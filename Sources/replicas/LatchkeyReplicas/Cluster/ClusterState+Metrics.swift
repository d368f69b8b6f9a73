internal import LatchkeyFrame
internal import LatchkeyMetrics
internal import LatchkeyReplication
internal import LatchkeyStore

extension ClusterState {
    private static let states = [
        "connecting", "seeding", "catching-up", "serving", "stale", "too-late", "diverged",
        "draining",
    ]
    private static let stateFamily = MetricFamily(
        "latchkey_cluster_state",
        .gauge,
        help: "1 for the state that this replica is in, 0 for the others."
    )
    private static let ageFamily = MetricFamily(
        "latchkey_cluster_age_seconds",
        .gauge,
        help: "Seconds since the state was known to have all that was acknowledged anywhere.",
        unit: "seconds"
    )
    private static let placeFamily = MetricFamily(
        "latchkey_cluster_log_place",
        .gauge,
        help: "The place in the log up to which this replica has executed it."
    )

    private static let entriesFamily = MetricFamily(
        "latchkey_cluster_entries_total",
        .counter,
        help: "Entries with changes of this replica's clients that it has executed."
    )
    private static let changesFamily = MetricFamily(
        "latchkey_cluster_changes_total",
        .counter,
        help: "Changes in these entries."
    )
    private static let secondsFamily = MetricFamily(
        "latchkey_cluster_entry_seconds_total",
        .counter,
        help: "Seconds from the sending of each of these entries until it was executed here.",
        unit: "seconds"
    )
    private static let repetitionsFamily = MetricFamily(
        "latchkey_cluster_entry_repetitions_total",
        .counter,
        help: "How often an entry was sent again, because it did not come in time."
    )

    private static let rulesFamily = MetricFamily(
        "latchkey_cluster_rules",
        .gauge,
        help: "The level of the rules that this replica decides changes by."
    )

    private static let failuresFamily = MetricFamily(
        "latchkey_cluster_etcd_failures_total",
        .counter,
        help: "Calls of etcd that have failed, by what has kept them."
    )

    func register(_ replica: Replica, in registry: MetricRegistry) {
        let families = [
            Self.stateFamily, Self.ageFamily, Self.placeFamily, Self.entriesFamily,
            Self.changesFamily, Self.secondsFamily, Self.repetitionsFamily, Self.rulesFamily,
            Self.failuresFamily,
        ]
        registry.collect(families) { writer in
            let word = self.description.word
            writer.begin(Self.stateFamily)
            for state in Self.states {
                writer.sample(Labels([("state", state)]), UInt64(state == word ? 1 : 0))
            }
            writer.begin(Self.ageFamily)
            writer.sample(.none, Double(self.age.level.ageNanoseconds) / 1e9)
            writer.begin(Self.placeFamily)
            writer.sample(.none, replica.position.place.number)
            writer.begin(Self.rulesFamily)
            writer.sample(.none, UInt64(replica.position.rules.rawValue))
            let counts = replica.counts
            for (family, count) in [
                (Self.entriesFamily, counts.entries), (Self.changesFamily, counts.changes),
                (Self.repetitionsFamily, counts.repetitions),
            ] {
                writer.begin(family)
                writer.sample(.none, count)
            }
            writer.begin(Self.secondsFamily)
            writer.sample(.none, Double(counts.nanoseconds) / 1e9)
            let failures = self.etcd().failureCounts
            writer.begin(Self.failuresFamily)
            for kind in EtcdFailureKind.allCases {
                writer.sample(Labels([("kind", kind.rawValue)]), failures[kind] ?? 0)
            }
        }
    }
}
