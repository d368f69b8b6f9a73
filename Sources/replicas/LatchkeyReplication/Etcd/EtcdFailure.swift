/// The kind of failure of an etcd call.
package enum EtcdFailureKind: String, Sendable, CaseIterable {
    /// No member is reached, or the member has no leader, ends, or is a learner.
    case unavailable
    /// There was no answer in time.
    case late
    /// A member of another cluster of etcd has answered.
    case stranger
    /// The rights of etcd, or its certificates, do not allow it.
    case denied
    /// etcd is full.
    case full
    /// The data of the members differ, or are damaged.
    case corrupt
    /// The request is too long for etcd.
    case tooLarge = "too-large"
    /// Any other failure.
    case other
}

/// How a call of etcd has failed.
enum EtcdFailure: Error, Equatable, Sendable {
    /// There is no connection to any member: the call was not made.
    case unconnected
    /// The answer is not one of etcd.
    case invalid
    /// A member of another cluster of etcd has answered; which one, in a sentence.
    case stranger(String)
    /// gRPC's status.
    case status(RPCChannel.Status)

    init(_ status: RPCChannel.Status) {
        self = .status(status)
    }

    /// From etcd's reason for the end of a watch: the text of a status, as gRPC for Go writes it.
    init(cancelled reason: String) {
        let mark = "rpc error: code = PermissionDenied desc = "
        if reason.hasPrefix(mark) {
            self = .status(.init(.denied, String(reason.dropFirst(mark.count))))
        } else {
            self = reason.isEmpty ? .invalid : .status(.init(.unknown, reason))
        }
    }

    /// Whether etcd has forgotten the revision that was asked for.
    var isCompacted: Bool { reason.contains("required revision has been compacted") }

    /// For messages.
    var reason: String {
        switch self {
        case .unconnected: "no connection"
        case .invalid: "the answer is not one of etcd"
        case .stranger(let sentence): sentence
        case .status(let status):
            status.reason.isEmpty ? "gRPC status \(status.code)" : status.reason
        }
    }

    var kind: EtcdFailureKind {
        switch self {
        case .unconnected: .unavailable
        case .invalid: .other
        case .stranger: .stranger
        case .status(let status): status.kind
        }
    }

    /// Whether another member could answer differently.
    var isOfMember: Bool {
        switch self {
        case .unconnected: false
        case .invalid, .stranger: true
        case .status(let status): status.isOfMember
        }
    }

    /// The longest request that etcd takes (`--max-request-bytes`), if the failure says it: gRPC
    /// takes 512 KiB more (`grpcOverheadBytes`).
    var requestByteCountMax: Int? {
        // "grpc: received message larger than max (2100014 vs. 2097152)"
        guard reason.contains("received message larger than max"),
            let end = reason.split(separator: "vs. ").last?.prefix(while: \.isNumber),
            let count = Int(end)
        else { return nil }
        return max(0, count - 512 << 10)
    }
}

extension RPCChannel.Status {
    /// The statuses of gRPC that are distinguished
    /// (https://github.com/grpc/grpc/blob/master/doc/statuscodes.md).
    fileprivate enum Code: Int {
        case cancelled = 1
        case unknown = 2
        case late = 4
        case denied = 7
        case exhausted = 8
        case failedPrecondition = 9
        case aborted = 10
        case unimplemented = 12
        case `internal` = 13
        case unavailable = 14
        case dataLoss = 15
        case unauthenticated = 16
    }

    fileprivate init(_ code: Code, _ reason: String) {
        self.init(code: code.rawValue, reason: reason)
    }

    /// The first text is for etcd's own limit, the second one for that of gRPC, which is greater.
    fileprivate var isTooLarge: Bool {
        reason.contains("request is too large") || reason.contains("larger than max")
    }

    fileprivate var isFull: Bool { reason.contains("database space exceeded") }

    /// etcd calls these an invalid argument: no user where users are needed, and a wrong password.
    private var isOfUser: Bool {
        reason.contains("user name is empty") || reason.contains("authentication failed")
    }

    /// The status is "unavailable" in etcd 3.4, and "failed precondition" in later versions.
    private var isRoleOfMember: Bool {
        reason.contains("not supported for learner") || reason.contains("not leader")
    }

    fileprivate var kind: EtcdFailureKind {
        if isTooLarge { return .tooLarge }
        if isFull { return .full }
        if isRoleOfMember { return .unavailable }
        if isOfUser { return .denied }
        switch Code(rawValue: code) {
        case .late: return .late
        case .denied, .unauthenticated: return .denied
        // The connection was given up here, because of another call.
        case .cancelled: return .unavailable
        case .dataLoss: return .corrupt
        // The connection was not made.
        case .unavailable: return reason.hasPrefix("TLS: ") ? .denied : .unavailable
        case _: return .other
        }
    }

    /// False for errors in the request, or in etcd as a whole.
    fileprivate var isOfMember: Bool {
        switch Code(rawValue: code) {
        case .cancelled, .unknown, .late, .aborted, .unimplemented, .internal, .unavailable,
            .dataLoss, .unauthenticated:
            return !isTooLarge && !isFull
        case .exhausted: return !isTooLarge && !isFull && !reason.contains("message is too long")
        case .failedPrecondition: return isRoleOfMember
        case .denied, nil: return false
        }
    }
}

extension LogAppend {
    /// The outcome of a failed put for its entry.
    init(_ failure: EtcdFailure) {
        switch failure {
        case .status(let status) where status.isTooLarge: self = .tooLarge(failure.reason)
        case .status(let status) where status.isFull: self = .full(failure.reason)
        case .unconnected, .invalid, .stranger, .status: self = .unknown(failure.reason)
        }
    }
}
