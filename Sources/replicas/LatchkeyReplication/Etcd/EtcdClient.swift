internal import Dispatch
internal import LatchkeySync

/// Calls of one etcd cluster: one connection at a time, to one of its members.
///
/// **Design.** `state` has the channel. When that ends, its owner is told, and the next call opens
/// one to the next member. A failed call ends the channel, too, if another member could answer
/// differently: a call whose answer is late, unless another answer has come meanwhile (a member
/// that is cut off from the others still answers pings, and a slow one still delivers); and a call
/// to a learner, or to a member of another etcd cluster. ``EtcdMembers`` says which member is next,
/// and when there is a pause.
///
/// Once the cluster ID is known, a call waits until the member of its channel has told its own: no
/// entry is put into the log of another etcd, and nothing there is compacted. `state` is not held
/// while anything is called.
package final class EtcdClient: Sendable {
    private struct State: Sendable {
        var members: EtcdMembers
        var trust: EtcdTrust
        var channel: RPCChannel?
        /// Counts the channels, so that events of a former one are recognized.
        var generation: UInt64 = 0
        /// Whether the member of the channel has said that it is of the known cluster.
        var isVerified = false
        /// How often a server has answered.
        var successCount = 0
        var troubles = EtcdTroubles()
        var isClosed = false
    }

    /// The cluster of the members that answer.
    package enum Membership: Sendable, Equatable {
        /// A member of the known cluster has answered last, or none has answered.
        case known
        /// A member of another etcd cluster has answered, and none of the known one since; with the
        /// message.
        case strangers(String)
        /// The last answer of each address came from another cluster; with the message.
        case onlyStrangers(String)
    }

    /// The use of a call; etcd can refuse each use by itself.
    package enum Use: String, Sendable, CaseIterable {
        case log = "the log"
        case record = "the record of this replica"
        case settings = "the settings of the cluster"
        case records = "the records of the replicas"
        case compaction = "the compaction"
    }

    static let put = "/etcdserverpb.KV/Put"
    static let range = "/etcdserverpb.KV/Range"
    /// A key that does not exist, and that a user who may read the log may read.
    private static let readableKey = Array("/latchkey/".utf8)

    private let state: Guarded<State>
    private let now: @Sendable () -> ContinuousClock.Instant
    let queue = DispatchQueue(label: "latchkey.etcd")

    /// - Parameters:
    ///   - servers: The members.
    ///   - trust: The authorities and the certificate.
    ///   - first: The member to begin with.
    package convenience init(_ servers: [EtcdServer], _ trust: EtcdTrust, first: Int = 0) {
        self.init(servers, trust, first: first) { .now }
    }

    init(
        _ servers: [EtcdServer],
        _ trust: EtcdTrust,
        first: Int = 0,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.now = now
        state = Guarded(State(members: EtcdMembers(servers, first: first), trust: trust))
    }

    // MARK: Calls

    /// A call that has one answer.
    ///
    /// - Parameters:
    ///   - path: The method.
    ///   - request: The request's message.
    ///   - kind: The kind of the answer.
    ///   - use: The use of the call; nil if a failure does not count.
    ///   - timeout: The call ends after this time.
    ///   - completion: Given the answer, or how the call has failed.
    func send(
        _ path: String,
        _ request: [UInt8],
        _ kind: EtcdAnswer.Kind,
        for use: Use?,
        timeout: Duration,
        completion: @escaping @Sendable (Result<EtcdAnswer, EtcdFailure>) -> Void
    ) {
        let end = now() + timeout
        let finish: @Sendable (Result<EtcdAnswer, EtcdFailure>) -> Void = { [weak self] result in
            if let use {
                var failure: EtcdFailure?
                if case .failure(let reason) = result { failure = reason }
                self?.notes(failure, EtcdTroubles.Call(use: use, path: path))
            }
            completion(result)
        }
        let opened = open()
        guard let opened, !opened.isVerified else {
            return send(path, request, kind, opened, until: end, finish)
        }
        let question = EtcdRequest.range(Self.readableKey, isKeysOnly: true, isLocal: true)
        let generation = opened.generation
        send(Self.range, question, .range, opened, isQuestion: true, until: end) {
            [weak self] result in
            guard case .success = result, let self else { return finish(result) }
            send(path, request, kind, verified(generation), until: end, finish)
        }
    }

    private func send(
        _ path: String,
        _ request: [UInt8],
        _ kind: EtcdAnswer.Kind,
        _ opened: Opened?,
        isQuestion: Bool = false,
        until end: ContinuousClock.Instant,
        _ completion: @escaping @Sendable (Result<EtcdAnswer, EtcdFailure>) -> Void
    ) {
        let answer = Guarded<[UInt8]?>(nil)
        // The closures do not capture the channel, whose thread drops them.
        let (generation, successCount) = (opened?.generation ?? 0, state.read { $0.successCount })
        let number = opened?.channel.call(
            path,
            request,
            timeout: max(.milliseconds(1), end - now()),
            take: { message in answer.write { $0 = message } },
            end: { [weak self] status in
                let bytes = answer.read { $0 }
                completion(
                    Result { () throws(EtcdFailure) in
                        guard let self else { throw .unconnected }
                        let answer = try self.taken(status, bytes, kind, generation, successCount)
                        try self.hears(of: answer, generation, isQuestion: isQuestion)
                        return answer
                    }
                )
            }
        )
        // Not at once: a retry must not run inside this call.
        if number == nil { queue.async { completion(.failure(.unconnected)) } }
    }

    /// The answer of a call.
    private func taken(
        _ status: RPCChannel.Status,
        _ bytes: [UInt8]?,
        _ kind: EtcdAnswer.Kind,
        _ generation: UInt64,
        _ successCount: Int
    ) throws(EtcdFailure) -> EtcdAnswer {
        guard status.isSuccess, let bytes else {
            let failure = EtcdFailure(status)
            if !status.isLate || state.read({ $0.successCount == successCount }) {
                leaves(generation, failure)
            }
            throw failure
        }
        let answer: EtcdAnswer
        do throws(ProtobufReader.InvalidMessage) {
            answer = try EtcdAnswer(bytes[...], kind)
        } catch {
            leaves(generation, .invalid)
            throw .invalid
        }
        return answer
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

    // MARK: Members

    /// How long to wait after a failure, before the next call.
    var pause: Duration { state.read { $0.members.pause } }

    /// Why no server answers, with the address that was tried last; nil if one does.
    package var trouble: String? { state.read { $0.members.trouble } }

    package var membership: Membership { state.read { $0.members.membership } }

    /// The current report on the calls.
    package var report: EtcdReport {
        state.read { state in
            EtcdReport(
                trouble: state.members.trouble,
                membership: state.members.membership,
                strangers: state.members.strangerSentences,
                troubles: state.troubles.byUse,
                failureCounts: state.troubles.counts
            )
        }
    }

    /// Takes answers of this etcd cluster only; those of others are failures, and their members are
    /// skipped.
    package func expect(cluster: UInt64) {
        state.write { state in
            if state.members.expected != cluster { state.isVerified = false }
            state.members.expect(cluster)
        }
    }

    /// The cluster of etcd whose answers are taken; nil for any.
    package var expectedCluster: UInt64? { state.read { $0.members.expected } }

    /// Goes on with other addresses or certificates; the next call is to one of them.
    ///
    /// If they are the present ones, nothing is done.
    package func use(_ servers: [EtcdServer], _ trust: EtcdTrust) {
        let former = state.write { state -> RPCChannel? in
            guard state.members.servers != servers || state.trust != trust else { return nil }
            state.members.use(servers)
            state.trust = trust
            return state.channel.take()
        }
        withExtendedLifetime(former) {}
    }

    /// The addresses and certificates.
    var connections: (servers: [EtcdServer], trust: EtcdTrust) {
        state.read { ($0.members.servers, $0.trust) }
    }

    // MARK: Channels

    struct Opened {
        let channel: RPCChannel
        let generation: UInt64
        /// Whether a call needs no question for the member's cluster ID first.
        let isVerified: Bool
    }

    func open() -> Opened? {
        state.write { state in
            if let channel = state.channel {
                return Opened(
                    channel: channel,
                    generation: state.generation,
                    isVerified: state.isVerified || state.members.expected == nil
                )
            }
            guard !state.isClosed, let server = state.members.advance(at: now()) else { return nil }
            state.generation += 1
            state.isVerified = false
            let generation = state.generation
            state.channel = RPCChannel(server, state.trust) { [weak self] reason in
                self?.ends(generation, reason)
            }
            let isVerified = state.members.expected == nil
            return state.channel.map {
                Opened(channel: $0, generation: generation, isVerified: isVerified)
            }
        }
    }

    /// The channel of a generation, unless it has ended.
    private func verified(_ generation: UInt64) -> Opened? {
        state.read { state in
            guard state.generation == generation, state.isVerified, let channel = state.channel
            else { return nil }
            return Opened(channel: channel, generation: generation, isVerified: true)
        }
    }

    func notes(_ failure: EtcdFailure?, _ call: EtcdTroubles.Call) {
        state.write { state in
            if let failure {
                state.troubles.add(failure, of: call)
            } else {
                state.troubles.remove(call)
            }
        }
    }

    private func hears(
        of answer: EtcdAnswer,
        _ generation: UInt64,
        isQuestion: Bool
    ) throws(EtcdFailure) {
        let failure = hears(of: answer.header.cluster, generation, isQuestion: isQuestion)
        if let failure { throw failure }
    }

    /// Takes the cluster ID of an answer; the channel of a stranger ends.
    func hears(
        of cluster: UInt64,
        _ generation: UInt64,
        isQuestion: Bool = false
    ) -> EtcdFailure? {
        let (sentence, former) = state.write { state -> (String?, RPCChannel?) in
            let isCurrent = state.generation == generation && state.channel != nil
            let sentence = state.members.answers(
                cluster,
                isCurrent: isCurrent,
                isQuestion: isQuestion,
                at: now()
            )
            guard isCurrent else { return (sentence, nil) }
            guard sentence == nil else { return (sentence, state.channel.take()) }
            state.isVerified = state.members.expected != nil
            if !isQuestion { state.successCount += 1 }
            return (nil, nil)
        }
        free(former)
        return sentence.map { .stranger($0) }
    }

    /// Ends the channel of a call that another member could answer differently.
    func leaves(_ generation: UInt64, _ failure: EtcdFailure) {
        if failure.isOfMember { ends(generation, failure.reason) }
    }

    /// Ends the channel of a generation, unless that was done before.
    private func ends(_ generation: UInt64, _ reason: String) {
        let former = state.write { state -> RPCChannel? in
            guard state.generation == generation, state.channel != nil else { return nil }
            state.members.fails(reason, at: now())
            return state.channel.take()
        }
        free(former)
    }

    /// Frees a channel later: this can be the channel's own thread.
    private func free(_ channel: RPCChannel?) {
        guard let channel else { return }
        queue.async { withExtendedLifetime(channel) {} }
    }
}
