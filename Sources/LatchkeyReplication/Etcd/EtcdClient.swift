internal import Dispatch
internal import LatchkeySync

/// Calls of one etcd cluster: one connection at a time, to one of its members.
///
/// **Design.** `state` has the channel. When that ends, its owner is told, and the next call opens
/// one to the next member. Who tries again waits for ``pause`` first: so a cluster that is gone
/// costs no processor. A call without an answer in time ends the channel, too, unless something
/// else has come meanwhile: a member that was cut off from the others still answers pings, and one
/// that is only slow still delivers. `state` is not held while anything is called.
package final class EtcdClient: Sendable {
    private struct State: Sendable {
        var channel: RPCChannel?
        /// Counts the channels, so that the end of a former one is known.
        var generation: UInt64 = 0
        /// The member of the next channel.
        var next = 0
        var failureCount = 0
        /// Why the last connection has ended, since a server has answered.
        var trouble: String?
        /// How often a server has answered.
        var successCount = 0
        var isClosed = false
    }

    private static let retryMillisecondsMin = 20
    private static let retryMillisecondsMax = 500

    private let servers: [EtcdServer]
    private let trust: EtcdTrust
    private let state = Guarded(State())
    private let queue = DispatchQueue(label: "latchkey.etcd")

    /// - Parameters:
    ///   - servers: The members.
    ///   - trust: What they are verified with.
    ///   - first: The member to begin with.
    package init(_ servers: [EtcdServer], _ trust: EtcdTrust, first: Int = 0) {
        precondition(!servers.isEmpty, "A cluster has a member.")
        self.servers = servers
        self.trust = trust
        state.write { $0.next = first % servers.count }
    }

    /// A call that has one answer.
    ///
    /// - Parameters:
    ///   - path: The method.
    ///   - request: The request's message.
    ///   - kind: That of the answer.
    ///   - timeout: The call ends after this time.
    ///   - completion: Given the answer, or how the call has failed.
    func send(
        _ path: String,
        _ request: [UInt8],
        _ kind: EtcdAnswer.Kind,
        timeout: Duration,
        completion: @escaping @Sendable (Result<EtcdAnswer, EtcdFailure>) -> Void
    ) {
        let answer = Guarded<[UInt8]?>(nil)
        let opened = open()
        // Not the channel, whose thread drops this at last.
        let (generation, successCount) = (opened?.generation, state.read { $0.successCount })
        let number = opened?.channel.call(
            path,
            request,
            timeout: timeout,
            take: { message in answer.write { $0 = message } },
            end: { [weak self] status in
                if status.isLate, let self, let generation,
                    self.state.read({ $0.successCount == successCount })
                {
                    ends(generation, status.reason)
                }
                guard status.isSuccess, let bytes = answer.read({ $0 }) else {
                    return completion(.failure(EtcdFailure(status)))
                }
                do throws(ProtobufReader.InvalidMessage) {
                    let answer = try EtcdAnswer(bytes[...], kind)
                    self?.succeeds()
                    completion(.success(answer))
                } catch {
                    completion(.failure(.invalid))
                }
            }
        )
        if number == nil {
            completion(.failure(.unconnected))
        }
    }

    /// A call with any number of answers.
    struct Stream: Sendable {
        fileprivate weak let channel: RPCChannel?
        fileprivate let number: UInt64

        /// Lets the server send so many bytes more.
        func consume(_ byteCount: Int) { channel?.consume(number, byteCount) }

        func cancel() { channel?.cancel(number) }
    }

    /// A call that has any number of answers until it ends.
    ///
    /// The server sends a window of them ahead of what was consumed.
    ///
    /// - Returns: Nil, and nothing is called, if there is no connection.
    func stream(
        _ path: String,
        _ request: [UInt8],
        take: @escaping @Sendable ([UInt8]) -> Void,
        end: @escaping @Sendable (EtcdFailure) -> Void
    ) -> Stream? {
        guard let channel = open()?.channel else { return nil }
        let number = channel.call(
            path,
            request,
            needsLeader: true,
            isHeld: true,
            take: take,
            end: { end(EtcdFailure($0)) }
        )
        return number.map { Stream(channel: channel, number: $0) }
    }

    /// Ends the connection, with all its calls; the next one is to another member.
    func moveOn() {
        let former = state.write { $0.channel.take() }
        withExtendedLifetime(former) {}
    }

    func close() {
        let former = state.write { state in
            state.isClosed = true
            return state.channel.take()
        }
        withExtendedLifetime(former) {}
    }

    /// How long to wait after a failure, before the next call.
    var pause: Duration {
        let count = state.read { $0.failureCount }
        let most = min(Self.retryMillisecondsMax, Self.retryMillisecondsMin << min(count, 6))
        return .milliseconds(Int.random(in: most / 2...most))
    }

    /// Why no server answers, and which one was tried last; nil if one does.
    package var trouble: String? { state.read { $0.trouble } }

    /// What the members that answer are of.
    package enum Membership: Sendable, Equatable {
        /// One of the known cluster has answered last, or none has answered.
        case known
        /// One of another cluster of etcd has, and no answer of the known one has come since; what
        /// is to be said, in a sentence.
        case strangers(String)
        /// The last answer of each address was one of another cluster; what is to be said.
        case onlyStrangers(String)
    }

    package var membership: Membership { .known }

    /// Takes answers of this cluster of etcd only; those of others are failures, and their members
    /// are passed over.
    package func expect(cluster: UInt64) {}

    /// Goes on with other addresses or certificates; the next call is to one of them.
    package func use(_ servers: [EtcdServer], _ trust: EtcdTrust) {}

    /// What a call is for; each is refused by itself.
    package enum Use: String, Sendable, CaseIterable {
        case log = "the log"
        case record = "the record of this replica"
        case settings = "the settings of the cluster"
        case records = "the records of the replicas"
        case compaction = "the compaction"
    }

    /// Why the last call of each use has failed; without those whose last call has not.
    package var troubles: [Use: String] { [:] }

    /// How many calls have failed, by kinds.
    package var failureCounts: [EtcdFailureKind: UInt64] { [:] }

    /// Asks each address by itself which cluster of etcd it is of, without a quorum.
    ///
    /// - Parameters:
    ///   - key: One that may be read.
    ///   - completion: Given the answers in the order of the addresses: the cluster ID, or why
    ///     there is none.
    package func survey(
        key: [UInt8],
        completion: @escaping @Sendable ([Result<UInt64, ClusterDirectory.Failure>]) -> Void
    ) {
        completion(servers.map { _ in .failure(ClusterDirectory.Failure(reason: "not asked")) })
    }

    /// A server has answered.
    func succeeds() {
        state.write { state in
            state.failureCount = 0
            state.trouble = nil
            state.successCount += 1
        }
    }

    private func open() -> (channel: RPCChannel, generation: UInt64)? {
        state.write { state in
            if let channel = state.channel { return (channel, state.generation) }
            guard !state.isClosed else { return nil }
            state.generation += 1
            let generation = state.generation
            let server = servers[state.next]
            state.next = (state.next + 1) % servers.count
            state.channel = RPCChannel(server, trust) { [weak self] reason in
                self?.ends(generation, reason)
            }
            return state.channel.map { ($0, generation) }
        }
    }

    /// - Parameters:
    ///   - generation: That of the channel.
    ///   - reason: Empty if the channel was closed here, for a reason that was said before.
    private func ends(_ generation: UInt64, _ reason: String) {
        let former = state.write { state -> RPCChannel? in
            guard state.generation == generation else { return nil }
            state.failureCount += 1
            if !reason.isEmpty {
                let last = (state.next + servers.count - 1) % servers.count
                state.trouble = "\(servers[last].text): \(reason)"
            }
            return state.channel.take()
        }
        // Its thread calls this, and frees what is left of it later.
        queue.async { withExtendedLifetime(former) {} }
    }
}

/// What kind of failure a call of etcd has ended with.
package enum EtcdFailureKind: String, Sendable, CaseIterable {
    /// No member is reached, or it has no leader, ends, or is a learner.
    case unavailable
    /// There was no answer in time.
    case late
    /// A member of another cluster of etcd has answered.
    case stranger
    /// The rights of etcd, or its certificates, do not allow it.
    case denied
    /// etcd is full.
    case full
    /// The request is too long for etcd.
    case tooLarge = "too-large"
    /// All else.
    case other
}

/// How a call of etcd has failed.
enum EtcdFailure: Error, Equatable, Sendable {
    /// There is no connection to any member: the call was not made.
    case unconnected
    /// The answer is none of etcd.
    case invalid
    /// gRPC's status.
    case status(RPCChannel.Status)

    init(_ status: RPCChannel.Status) {
        self = .status(status)
    }

    /// Whether etcd has forgotten the revision that was asked for.
    var isCompacted: Bool { reason.contains("required revision has been compacted") }

    /// For messages.
    var reason: String {
        switch self {
        case .unconnected: "no connection"
        case .invalid: "the answer is not one of etcd"
        case .status(let status):
            status.reason.isEmpty ? "gRPC status \(status.code)" : status.reason
        }
    }
}
