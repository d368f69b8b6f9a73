/// Chooses the etcd member for the next connection, and knows which ones are of another cluster.
///
/// **Design.** A value without clocks or connections: ``EtcdClient`` keeps it under its lock. The
/// members take their turns. Once all have failed in a row, there is a pause before each
/// connection, so that a cluster that is gone, or that refuses all, costs little.
struct EtcdMembers: Sendable {
    private static let pauseMillisecondsMin = 20
    private static let pauseMillisecondsMax = 500

    private(set) var servers: [EtcdServer]
    /// The cluster ID of etcd, once it is known.
    private(set) var expected: UInt64?
    /// The cluster IDs of the addresses whose last answer came from another cluster.
    private var strangers: [Int: UInt64] = [:]
    /// Whether no member of the known cluster has answered since a stranger answered.
    private var isStrange = false
    /// The address of the last connection, and that of the next one.
    private var (current, next): (Int, Int)
    /// How many connections have failed since a member has answered.
    private var failureCount = 0
    private var pausedUntil: ContinuousClock.Instant?
    /// Why the last connection has failed, since a member has answered.
    private(set) var trouble: String?

    init(_ servers: [EtcdServer], first: Int) {
        precondition(!servers.isEmpty, "A cluster has a member.")
        self.servers = servers
        next = first % servers.count
        current = next
    }

    /// The member for a connection; nil in a pause.
    mutating func advance(at now: ContinuousClock.Instant) -> EtcdServer? {
        if let pausedUntil, now < pausedUntil { return nil }
        current = next
        next = (next + 1) % servers.count
        return servers[current]
    }

    /// How long to wait after a failure.
    var pause: Duration {
        let most = min(
            Self.pauseMillisecondsMax,
            Self.pauseMillisecondsMin << min(failureCount, 6)
        )
        return .milliseconds(Int.random(in: most / 2...most))
    }

    /// The last connection has failed, or its member cannot answer.
    ///
    /// The address may have a member of the known cluster that is down: it does not count as a
    /// stranger any more.
    mutating func fails(_ reason: String, at now: ContinuousClock.Instant) {
        strangers[current] = nil
        count("\(servers[current].text): \(reason)", at: now)
    }

    private mutating func count(_ reason: String, at now: ContinuousClock.Instant) {
        failureCount += 1
        trouble = reason
        if failureCount >= servers.count { pausedUntil = now + pause }
    }

    /// A member has answered.
    ///
    /// - Parameters:
    ///   - cluster: The cluster ID in its answer.
    ///   - isCurrent: Whether it is that of the last connection.
    ///   - isQuestion: Whether the answer only gives the cluster ID: a member without a leader, and
    ///     a learner, answer that, too.
    ///   - now: The time.
    /// - Returns: The message, if it is a stranger.
    mutating func answers(
        _ cluster: UInt64,
        isCurrent: Bool,
        isQuestion: Bool = false,
        at now: ContinuousClock.Instant
    ) -> String? {
        if let expected, cluster != expected {
            let sentence = sentence(current, cluster, expected)
            if isCurrent {
                strangers[current] = cluster
                isStrange = true
                count(sentence, at: now)
            }
            return sentence
        }
        if isCurrent {
            strangers[current] = nil
            isStrange = false
            guard !isQuestion else { return nil }
            failureCount = 0
            pausedUntil = nil
            trouble = nil
        }
        return nil
    }

    mutating func expect(_ cluster: UInt64) {
        guard expected != cluster else { return }
        expected = cluster
        strangers = [:]
        isStrange = false
    }

    /// Goes on with other addresses, from a random one on: not all replicas begin with the first
    /// one.
    mutating func use(_ servers: [EtcdServer]) {
        let expected = expected
        self = Self(servers, first: Int.random(in: 0..<servers.count))
        self.expected = expected
    }

    /// The messages about addresses whose last answer had another cluster ID.
    var strangerSentences: [String] {
        guard let expected else { return [] }
        return strangers.sorted { $0.key < $1.key }.map { sentence($0.key, $0.value, expected) }
    }

    var membership: EtcdClient.Membership {
        guard isStrange, !strangers.isEmpty else { return .known }
        let sentences = strangerSentences.joined(separator: " ")
        return strangers.count == servers.count ? .onlyStrangers(sentences) : .strangers(sentences)
    }

    /// IDs are written as etcd's own log has them.
    private func sentence(_ address: Int, _ cluster: UInt64, _ expected: UInt64) -> String {
        "\(servers[address].text) is of the etcd cluster \(cluster.hexadecimal), and the log is in "
            + "\(expected.hexadecimal)."
    }
}
