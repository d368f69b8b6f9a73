internal import Dispatch

// Questions of a replica to etcd before it takes part.

extension EtcdClient {
    private static let questionTimeout = Duration.seconds(2)
    /// Longer than the longest request that etcd takes by default, as gRPC counts.
    private static let longKeyByteCount = 2_100_000

    /// Asks each address by itself for its cluster ID, without a quorum.
    ///
    /// - Parameters:
    ///   - key: A key that may be read.
    ///   - access: The addresses and certificates; nil for the present ones.
    ///   - completion: Given the answers in the order of the addresses: the cluster ID, or why
    ///     there is none.
    package func survey(
        key: [UInt8],
        of access: (servers: [EtcdServer], trust: EtcdTrust)? = nil,
        completion: @escaping @Sendable ([Result<UInt64, ClusterDirectory.Failure>]) -> Void
    ) {
        let (servers, trust) = access ?? connections
        let survey = EtcdSurvey(count: servers.count) { [queue] channels, answers in
            // This is the thread of the last channel, which must not free that channel.
            queue.async {
                withExtendedLifetime(channels) {}
                completion(answers)
            }
        }
        for (index, server) in servers.enumerated() {
            survey.ask(index, server, trust, key, timeout: Self.questionTimeout)
        }
    }

    /// Asks etcd how long a request can be (`--max-request-bytes`).
    ///
    /// - Parameter completion: Given nil if there is no answer; the greatest number if etcd takes
    ///   more than it does by default, which is 1.5 MiB.
    package func requestByteCountMax(completion: @escaping @Sendable (Int?) -> Void) {
        // gRPC refuses it by its length before etcd looks at it.
        let key = [UInt8](repeating: 0, count: Self.longKeyByteCount)
        send(
            Self.range,
            EtcdRequest.range(key, isKeysOnly: true, isLocal: true),
            .range,
            for: nil,
            timeout: Self.questionTimeout
        ) { result in
            guard case .failure(let failure) = result else { return completion(.max) }
            completion(failure.requestByteCountMax)
        }
    }
}
