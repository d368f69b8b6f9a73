internal import Glibc
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import Synchronization

/// What a replica knows of its leader, for answers, probes and metrics.
///
/// **Design.** The follower's thread writes, all others read. `levelNanoseconds` is an atomic of
/// its own because each request reads it. It is stored, releasing, behind the commits that it
/// speaks of, and loaded, acquiring, before a request reads anything: so the age that an answer
/// says is never below that of what it has.
final class FollowState: Sendable {
    enum Phase: Sendable {
        case connecting
        case seeding
        case following
        case diverged
        case promoted
    }

    /// A time before which the state had everything that the leader had.
    struct Level: Sendable, Equatable {
        fileprivate let nanoseconds: UInt64

        /// The service follows no other one.
        static let none = Self(nanoseconds: .max)

        /// The seconds since then, rounded up to a millisecond.
        var ageText: String {
            let milliseconds = (FollowState.now() &- nanoseconds + 999_999) / 1_000_000
            let rest = "\(milliseconds % 1000)"
            return "\(milliseconds / 1000)."
                + String(repeating: "0", count: 3 - rest.count) + rest
        }
    }

    private struct State {
        var phase = Phase.connecting
        var isConnected = false
        var reason: String?
        var revision: Revision = 0
        var leaderRevision: Revision = 0
        var restartCount: UInt64 = 0
    }

    /// The age from which on a replica calls itself stale.
    private static let staleNanoseconds: UInt64 = 5_000_000_000

    let leader: String
    private let state = Guarded(State())
    /// `Level.none` once the service leads; 0 before it had anything.
    private let levelNanoseconds = Atomic<UInt64>(0)

    init(leader: String) {
        self.leader = leader
    }

    /// The nanoseconds since the machine started, the time that it slept included: else a replica
    /// would be younger than it is after a pause of its machine.
    static func now() -> UInt64 {
        var time = timespec()
        let status = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        precondition(status == 0, "clock_gettime failed.")
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    var level: Level { Level(nanoseconds: levelNanoseconds.load(ordering: .acquiring)) }

    /// Whether changes belong to the leader.
    var isFollowing: Bool { level != .none }

    func enters(_ phase: Phase) {
        state.write { $0.phase = phase }
    }

    /// The leader has answered with its latest revision.
    func hears(of revision: Revision) {
        state.write { state in
            state.isConnected = true
            state.reason = nil
            state.leaderRevision = revision
        }
    }

    func fails(_ reason: String) {
        state.write { state in
            state.isConnected = false
            state.reason = reason
        }
    }

    /// The state is that of a revision now.
    func reaches(_ revision: Revision) {
        state.write { $0.revision = revision }
    }

    /// The state has all that the leader had at a time, or later.
    func isLevel(since nanoseconds: UInt64) {
        state.write { $0.phase = .following }
        levelNanoseconds.store(nanoseconds, ordering: .releasing)
    }

    func restarts() {
        state.write { $0.restartCount += 1 }
    }

    /// The service leads from now on.
    func promote() {
        state.write { state in
            state.phase = .promoted
            state.isConnected = false
        }
        levelNanoseconds.store(Level.none.nanoseconds, ordering: .releasing)
    }

    /// Answers a request that changes something, if that is the leader's to do.
    func refuses(_ request: ServiceRequest) -> Bool {
        guard isFollowing else { return false }
        request.fail(.notLeader, leader: leader) { $0.add("Latchkey-Leader", text: self.leader) }
        return true
    }

    var check: Readiness.Check {
        let now = state.read { $0 }
        let level = level
        let isStale = level != .none && Self.now() &- level.nanoseconds > Self.staleNanoseconds
        let reason = now.reason.map { " \($0)" } ?? ""
        let (isPassed, text) =
            switch now.phase {
            case .connecting: (false, "connecting to \(leader).\(reason)")
            case .seeding: (false, "seeding from \(leader).\(reason)")
            case .following where isStale:
                (true, "stale: level with \(leader) \(level.ageText) s ago.\(reason)")
            case .following:
                (true, "following \(leader), level \(level.ageText) s ago.\(reason)")
            case .diverged: (false, "diverged from \(leader).\(reason)")
            case .promoted: (true, "promoted: it follows no other service any more.")
            }
        return Readiness.Check(name: "following", isPassed: isPassed, detail: text)
    }
}

extension FollowState {
    private static let age = MetricFamily(
        "latchkey_follow_age_seconds",
        .gauge,
        help: "Seconds since the state was known to be level with the leader's.",
        unit: "seconds"
    )
    private static let lag = MetricFamily(
        "latchkey_follow_lag_revisions",
        .gauge,
        help: "Revisions between this replica and the latest one that the leader told."
    )
    private static let connected = MetricFamily(
        "latchkey_follow_connected",
        .gauge,
        help: "Whether the leader has answered the last request."
    )
    private static let restarts = MetricFamily(
        "latchkey_follow_restarts_total",
        .counter,
        help: "Exports that replaced the state, because the leader's changes were lost."
    )

    func register(in registry: MetricRegistry) {
        registry.collect([Self.age, Self.lag, Self.connected, Self.restarts]) { writer in
            let now = self.state.read { $0 }
            let level = self.level
            let nanoseconds = level == .none ? 0 : Self.now() &- level.nanoseconds
            writer.begin(Self.age)
            writer.sample(.none, Double(nanoseconds) / 1e9)
            writer.begin(Self.lag)
            let isBehind = level != .none && now.leaderRevision > now.revision
            writer.sample(.none, isBehind ? now.leaderRevision - now.revision : 0)
            writer.begin(Self.connected)
            writer.sample(.none, UInt64(now.isConnected ? 1 : 0))
            writer.begin(Self.restarts)
            writer.sample(.none, now.restartCount)
        }
    }
}
