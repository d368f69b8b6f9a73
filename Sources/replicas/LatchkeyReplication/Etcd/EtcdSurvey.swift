internal import LatchkeySync

/// A question to each address by itself, on a connection of its own.
final class EtcdSurvey: Sendable {
    typealias Answer = Result<UInt64, ClusterDirectory.Failure>

    private struct State: Sendable {
        var channels: [RPCChannel] = []
        var answers: [Answer?]
    }

    private let state: Guarded<State>
    /// Given the connections, too, so that they are freed elsewhere.
    private let completion: @Sendable ([RPCChannel], [Answer]) -> Void

    init(count: Int, completion: @escaping @Sendable ([RPCChannel], [Answer]) -> Void) {
        state = Guarded(State(answers: Array(repeating: nil, count: count)))
        self.completion = completion
    }

    /// Asks one address for its cluster ID.
    func ask(
        _ index: Int,
        _ server: EtcdServer,
        _ trust: EtcdTrust,
        _ key: [UInt8],
        timeout: Duration
    ) {
        let channel = RPCChannel(server, trust) { _ in }
        if let channel { state.write { $0.channels.append(channel) } }
        let cluster = Guarded<UInt64?>(nil)
        let number = channel?.call(
            EtcdClient.range,
            EtcdRequest.range(key, isKeysOnly: true, isLocal: true),
            timeout: timeout,
            take: { message in
                let answer = try? EtcdAnswer(message[...], .range)
                cluster.write { $0 = answer?.header.cluster }
            },
            end: { [self] status in
                let failure = status.isSuccess ? EtcdFailure.invalid : EtcdFailure(status)
                take(index, cluster.read { $0 }, failure)
            }
        )
        if number == nil { take(index, nil, .unconnected) }
    }

    private func take(_ index: Int, _ cluster: UInt64?, _ failure: EtcdFailure) {
        let done = state.write { state -> State? in
            let failure = ClusterDirectory.Failure(reason: failure.reason)
            state.answers[index] = cluster.map { .success($0) } ?? .failure(failure)
            guard state.answers.allSatisfy({ $0 != nil }) else { return nil }
            defer { state.channels = [] }
            return state
        }
        if let done { completion(done.channels, done.answers.compactMap { $0 }) }
    }
}
