internal import LatchkeySync

// Calls that have any number of answers.

extension EtcdClient {
    /// A call with any number of answers.
    struct Stream: Sendable {
        fileprivate weak let channel: RPCChannel?
        fileprivate let number: UInt64
        fileprivate let generation: UInt64
        let call: EtcdTroubles.Call
        fileprivate let isCancelled: Guarded<Bool>

        /// Lets the server send this many more bytes.
        func consume(_ byteCount: Int) { channel?.consume(number, byteCount) }

        func cancel() {
            isCancelled.write { $0 = true }
            channel?.cancel(number)
        }
    }

    /// A call that has any number of answers until it ends.
    ///
    /// The server sends at most a window of bytes ahead of consumption; the caller gives each
    /// answer to ``hears(_:on:)``.
    ///
    /// - Returns: Nil, and nothing is called, if there is no connection.
    func stream(
        _ path: String,
        _ request: [UInt8],
        for use: Use = .log,
        timeout: Duration? = nil,
        take: @escaping @Sendable ([UInt8]) -> Void,
        end: @escaping @Sendable (EtcdFailure) -> Void
    ) -> Stream? {
        guard let opened = open() else { return nil }
        let (generation, call) = (opened.generation, EtcdTroubles.Call(use: use, path: path))
        let isCancelled = Guarded(false)
        let number = opened.channel.call(
            path,
            request,
            needsLeader: true,
            isHeld: true,
            timeout: timeout,
            take: take,
            end: { [weak self] status in
                let failure = EtcdFailure(status)
                if !isCancelled.read({ $0 }) {
                    self?.leaves(generation, failure)
                    self?.notes(failure, call)
                }
                end(failure)
            }
        )
        return number.map {
            Stream(
                channel: opened.channel,
                number: $0,
                generation: generation,
                call: call,
                isCancelled: isCancelled
            )
        }
    }

    /// The member of a stream has answered.
    ///
    /// - Parameters:
    ///   - cluster: The cluster ID in the answer; nil if it is not an answer of etcd.
    ///   - stream: The stream.
    /// - Returns: The failure, if the answer is wrong or of another cluster; else nil.
    func hears(_ cluster: UInt64?, on stream: Stream?) -> EtcdFailure? {
        guard let stream else { return nil }
        guard let cluster else {
            leaves(stream.generation, .invalid)
            return .invalid
        }
        let failure = hears(of: cluster, stream.generation)
        notes(failure, stream.call)
        return failure
    }
}
