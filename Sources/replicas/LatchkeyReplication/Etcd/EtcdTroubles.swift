/// The failures of etcd calls: their reasons and counts.
struct EtcdTroubles: Sendable {
    /// A kind of call that etcd can refuse by itself: its use and its method.
    struct Call: Sendable, Hashable {
        let use: EtcdClient.Use
        let path: String
    }

    private struct Trouble: Sendable {
        let reason: String
        let kind: EtcdFailureKind
        /// Whether another member could answer differently.
        let isOfMember: Bool
    }

    private var troubles: [Call: Trouble] = [:]
    private(set) var counts: [EtcdFailureKind: UInt64] = [:]

    /// The reasons of the last refused calls, by use.
    ///
    /// Failed connections are not in it: they are in ``EtcdClient/trouble``.
    var byUse: [EtcdClient.Use: String] {
        let sorted = troubles.sorted { $0.key.path < $1.key.path }
        return Dictionary(sorted.map { ($0.key.use, $0.value.reason) }) { one, other in
            one == other ? one : "\(one); \(other)"
        }
    }

    mutating func add(_ failure: EtcdFailure, of call: Call) {
        // A compacted revision is a normal answer.
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
    /// If etcd takes one put, it is not full for others, which may come much later.
    mutating func remove(_ call: Call) {
        guard !troubles.isEmpty else { return }
        troubles = troubles.filter { other, trouble in
            other != call && !trouble.isOfMember
                && !(trouble.kind == .full && call.path == EtcdClient.put)
        }
    }
}
