internal import LatchkeyReplication

/// The answers of all etcd addresses to the question for their cluster ID.
struct EtcdMajority {
    private let answers: [(address: String, answer: Result<UInt64, Unanswered>)]

    init(_ addresses: [String], _ answers: [Result<UInt64, Unanswered>]) {
        self.answers = zip(addresses, answers).map { ($0, $1) }
    }

    /// The cluster ID that more than half of all addresses gave, or the reason why there is none.
    ///
    /// Fewer could be members that lost their disks and were started as a new cluster.
    var result: Result<UInt64, Unanswered> {
        var counts: [UInt64: Int] = [:]
        for case (_, .success(let cluster)) in answers { counts[cluster, default: 0] += 1 }
        if let most = counts.first(where: { $0.value * 2 > answers.count }) {
            return .success(most.key)
        }
        let each = answers.map { address, answer in
            switch answer {
            case .success(let cluster): "\(address) is of the cluster \(cluster.hexadecimal)."
            case .failure(let failure): EtcdReport.sentence("\(address): \(failure.reason)")
            }
        }
        let rule =
            counts.isEmpty
            ? [] : ["Most addresses in --cluster must be of one cluster of etcd."]
        return .failure(Unanswered((rule + each).joined(separator: " ")))
    }
}
