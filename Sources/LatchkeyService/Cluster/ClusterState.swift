internal import LatchkeyMetrics
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import Synchronization

/// What a replica of a cluster knows of itself, for answers, probes and metrics.
///
/// **Design.** Any thread writes, and any reads. `differs` is apart, because each read asks for it;
/// relaxed, because a read that has begun a moment before is answered in any case.
final class ClusterState: Sendable {
    let name: String
    let age = StateAge()
    private let phase = Guarded(Replica.Phase.connecting(""))
    /// What is to be said while the replica takes the state of another one; nil if it does not.
    private let seeding = Guarded<String?>(nil)
    private let others = Guarded<[String: ClusterDirectory.Record]>([:])
    /// Why etcd does not answer; nil if it does.
    private let trouble: @Sendable () -> String?
    private let differs = Atomic<Bool>(false)

    init(name: String, trouble: @escaping @Sendable () -> String?) {
        self.name = name
        self.trouble = trouble
    }

    func enters(_ phase: Replica.Phase) {
        if case .differs = phase { differs.store(true, ordering: .relaxed) }
        self.phase.write { $0 = phase }
    }

    func seeds(_ detail: String?) {
        seeding.write { $0 = detail }
    }

    /// What those are told who read while ``isWrong``.
    static let wrongDetail =
        "The state of this replica is not that of the others. Send the request to another replica."

    /// Whether the state is not that of the other replicas: no client may be shown it.
    var isWrong: Bool { differs.load(ordering: .relaxed) }

    /// What all replicas have said last, this one among them.
    func hears(of records: [String: ClusterDirectory.Record]) {
        others.write { $0 = records }
    }

    var records: [String: ClusterDirectory.Record] { others.read { $0 } }

    var word: String { description.word }

    var logFields: [(String, String)] {
        let (_, word, detail) = description
        return [("state", word), ("detail", detail)]
    }

    /// Why the replica cannot go on; nil if it can.
    var endReason: String? {
        switch phase.read({ $0 }) {
        case .diverged, .otherLog, .differs, .tooLate: description.detail
        case _: nil
        }
    }

    /// The word for the state, and what else is to be said.
    private var description: (isPassed: Bool, word: String, detail: String) {
        if let detail = seeding.read({ $0 }) { return (false, "seeding", detail) }
        switch phase.read({ $0 }) {
        case .connecting(let reason):
            return (false, "connecting", reason.isEmpty ? "etcd has not answered yet." : reason)
        case .catchingUp: return (false, "catching-up", "It executes what it has missed.")
        case .serving where age.isStale:
            let reason = trouble().map { " etcd does not answer: \($0)." } ?? ""
            let age = age.level.ageText
            return (true, "stale", "It was level with the others \(age) s ago.\(reason)")
        case .serving:
            return (true, "serving", "It was level with the others \(age.level.ageText) s ago.")
        case .tooLate:
            return (
                false, "too-late",
                "The log has forgotten what this replica needs. Move its data away: if etcd was "
                    + "restored from a backup, they can be the only copy of acknowledged writes. "
                    + "Then start it with an empty folder: it takes the state of another one."
            )
        case .diverged(let reason), .otherLog(let reason), .differs(let reason):
            return (false, "diverged", reason)
        case .draining: return (false, "draining", "It takes no changes any more.")
        }
    }

    var check: Readiness.Check {
        let (isPassed, word, detail) = description
        return Readiness.Check(
            name: "cluster",
            isPassed: isPassed,
            detail: "\(name): \(word). \(detail)"
        )
    }
}

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

    func register(_ replica: Replica, in registry: MetricRegistry) {
        let families = [
            Self.stateFamily, Self.ageFamily, Self.placeFamily, Self.entriesFamily,
            Self.changesFamily, Self.secondsFamily, Self.repetitionsFamily, Self.rulesFamily,
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
        }
    }
}
