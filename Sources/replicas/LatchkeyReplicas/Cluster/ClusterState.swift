package import LatchkeyFrame
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import Synchronization

/// The state of a replica of a cluster, for answers, probes and metrics.
///
/// **Design.** Any thread writes, and any reads. `differs` is a separate atomic, because each read
/// asks for it; relaxed, because a read that has begun a moment before is answered in any case.
package final class ClusterState: Sendable {
    let name: String
    package let age = StateAge()
    package let disks = ClusterDisks()
    private let phase = Guarded(Replica.Phase.connecting(""))
    /// The detail while the replica takes the state of another one; nil if it does not.
    private let seeding = Guarded<String?>(nil)
    /// Whether the replica must not serve before another life of the log has begun.
    private let isAwaitingLife = Guarded(false)
    private let others = Guarded<[String: ClusterDirectory.Record]>([:])
    let etcd: @Sendable () -> EtcdReport
    private let differs = Atomic<Bool>(false)

    init(name: String, etcd: @escaping @Sendable () -> EtcdReport) {
        self.name = name
        self.etcd = etcd
    }

    func enters(_ phase: Replica.Phase) {
        if case .differs = phase { differs.store(true, ordering: .relaxed) }
        self.phase.write { $0 = phase }
    }

    func seeds(_ detail: String?) {
        seeding.write { $0 = detail }
    }

    func awaitsLife(_ awaits: Bool) {
        isAwaitingLife.write { $0 = awaits }
    }

    /// Whether the state is not that of the other replicas: no client may see it.
    package var isWrong: Bool { differs.load(ordering: .relaxed) }

    /// The failure that all reads get; nil if they are answered.
    var readRefusal: RequestFailure? {
        if isWrong { return .wrongState }
        return disks.isStateOld ? .fullReplica : nil
    }

    /// Takes the last records of all replicas, this one included.
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

    /// The word for the state, and its detail.
    var description: (isPassed: Bool, word: String, detail: String) {
        if let detail = seeding.read({ $0 }) { return (false, "seeding", detail) }
        switch phase.read({ $0 }) {
        case .connecting(let reason):
            let detail = reason.isEmpty ? "etcd has not answered yet." : reason
            return (false, "connecting", [etcd().onlyHeard, detail].said)
        case .catchingUp: return (false, "catching-up", "It executes what it has missed.")
        case .serving where isAwaitingLife.read({ $0 }):
            return (
                false, "catching-up",
                "It finds out whether etcd goes on from a backup: then a new life begins."
            )
        case .serving: return serving
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

    /// While the replica serves, or did until etcd was gone.
    private var serving: (isPassed: Bool, word: String, detail: String) {
        let (etcd, isStale) = (etcd(), age.isStale)
        let since = "It was level with the others \(age.level.ageText) s ago."
        let full =
            disks.isMostFull
            ? " The disks of most replicas are full: only changes that remove are taken." : ""
        guard isStale else { return (true, "serving", since + full + etcd.sentences) }
        if disks.isStateOld {
            return (false, "stale", since + " Its disk was full, or is. Reads are refused.")
        }
        // The later entries of the known etcd are not known, and these members never deliver them.
        if let strangers = etcd.onlyHeard { return (false, "connecting", strangers + " " + since) }
        let reason = etcd.trouble.map { " etcd does not answer: \(EtcdReport.sentence($0))" } ?? ""
        return (true, "stale", since + reason + etcd.sentences)
    }

    package var check: Readiness.Check {
        let (isPassed, word, detail) = description
        return Readiness.Check(
            name: "cluster",
            isPassed: isPassed,
            detail: "\(name): \(word). \(detail)"
        )
    }
}

extension [String?] {
    /// The sentences that are there, each once.
    fileprivate var said: String {
        reduce(into: [String]()) { all, sentence in
            guard let sentence, !all.contains(where: { $0.contains(sentence) }) else { return }
            all.removeAll { sentence.contains($0) }
            all.append(sentence)
        }.joined(separator: " ")
    }
}
