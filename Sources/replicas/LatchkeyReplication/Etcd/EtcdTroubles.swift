/// What has failed of the calls of etcd: why, and how often.
struct EtcdTroubles: Sendable {
    /// A call, as far as it is refused by itself: what it is for, and its method.
    struct Call: Sendable, Hashable {
        let use: EtcdClient.Use
        let path: String
    }

    private struct Trouble: Sendable {
        let reason: String
        let kind: EtcdFailureKind
        /// Whether another member could answer otherwise.
        let isOfMember: Bool
    }

    private var troubles: [Call: Trouble] = [:]
    private(set) var counts: [EtcdFailureKind: UInt64] = [:]

    /// What was refused last, by uses.
    ///
    /// Connections that fail are not in it: ``EtcdClient/trouble`` tells of them.
    var byUse: [EtcdClient.Use: String] {
        let sorted = troubles.sorted { $0.key.path < $1.key.path }
        return Dictionary(sorted.map { ($0.key.use, $0.value.reason) }) { one, other in
            one == other ? one : "\(one); \(other)"
        }
    }

    mutating func add(_ failure: EtcdFailure, of call: Call) {
        // It is an answer like another one.
        guard !failure.isCompacted else { return }
        counts[failure.kind, default: 0] += 1
        switch failure.kind {
        case .unavailable, .late, .stranger: break
        case .denied, .full, .corrupt, .tooLarge, .other:
            troubles[call] = Trouble(
                reason: failure.reason,
                kind: failure.kind,
                isOfMember: failure.isOfMember
            )
        }
    }

    /// A call has been answered.
    ///
    /// A log that takes one put is not full for others, which may come much later.
    mutating func remove(_ call: Call) {
        guard !troubles.isEmpty else { return }
        troubles = troubles.filter { other, trouble in
            other != call && !trouble.isOfMember
                && !(trouble.kind == .full && call.path == EtcdClient.put)
        }
    }
}
