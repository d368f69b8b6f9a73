package import LatchkeyFrame
package import LatchkeyHTTP
package import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The state of a follower, for answers, probes and metrics.
///
/// **Design.** The follower's thread writes, all others read. `age` is beside `state` because each
/// request reads it.
package final class FollowState: Sendable {
    enum Phase: String, Sendable {
        case connecting
        case seeding
        case following
        case diverged
        case promoted
    }

    private struct State {
        var phase = Phase.connecting
        var isConnected = false
        var reason: String?
        var revision: Revision = 0
        var leaderRevision: Revision = 0
        var restartCount: UInt64 = 0
    }

    package let leader: String
    private let state = Guarded(State())
    package let age = StateAge()

    package init(leader: String) {
        self.leader = leader
    }

    /// Whether only the leader makes changes.
    var isFollowing: Bool { age.level != .none }

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

    /// The state has reached a revision.
    func reaches(_ revision: Revision) {
        state.write { $0.revision = revision }
        age.reaches(revision)
    }

    /// The state has all that the leader had at a time, or later.
    func isLevel(since nanoseconds: UInt64) {
        state.write { $0.phase = .following }
        age.isLevel(since: nanoseconds)
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
        age.endsFollowing()
    }

    /// Refuses a request that only the leader may execute.
    func refuses(_ request: ServiceRequest, detail: String? = nil) -> Bool {
        guard isFollowing else { return false }
        request.fail(.notLeader, detail: detail, leader: leader) {
            $0.add("Latchkey-Leader", text: self.leader)
        }
        return true
    }

    /// The state at one time.
    struct Reading {
        let word: String
        let isConnected: Bool
        let revision: Revision
        /// The revisions that are missing to the latest one that the leader has reported.
        let lag: Revision
        let level: StateAge.Level
    }

    var reading: Reading {
        let (now, level, isStale) = (state.read { $0 }, age.level, age.isStale)
        let isBehind = level != .none && now.leaderRevision > now.revision
        return Reading(
            word: now.phase == .following && isStale ? "stale" : now.phase.rawValue,
            isConnected: now.isConnected,
            revision: now.revision,
            lag: isBehind ? now.leaderRevision - now.revision : 0,
            level: level
        )
    }

    package var check: Readiness.Check {
        let now = state.read { $0 }
        let (level, isStale) = (age.level, age.isStale)
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
    /// Refuses a read that must see all acknowledged changes, if the service follows another one.
    package var refusal: @Sendable (ServiceRequest) -> Bool {
        { request in
            self.refuses(
                request,
                detail: "A replica cannot know what its leader has acknowledged. Send the request "
                    + "to the address in leader, or ask for a min-revision."
            )
        }
    }
}

/// Refuses changes: only the leader makes them.
extension FollowState: RequestStep {
    package var statuses: [UInt16] { [421] }

    package func takes(
        _ request: inout ServiceRequest,
        _ match: RouteMatch,
        _ route: RouteHandler
    ) -> Bool {
        refuses(request)
    }
}

extension FollowState {
    private static let ageFamily = MetricFamily(
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

    package func register(in registry: MetricRegistry) {
        registry.collect([Self.ageFamily, Self.lag, Self.connected, Self.restarts]) { writer in
            let now = self.reading
            writer.begin(Self.ageFamily)
            writer.sample(.none, Double(now.level.ageNanoseconds) / 1e9)
            writer.begin(Self.lag)
            writer.sample(.none, now.lag)
            writer.begin(Self.connected)
            writer.sample(.none, UInt64(now.isConnected ? 1 : 0))
            writer.begin(Self.restarts)
            writer.sample(.none, self.state.read { $0.restartCount })
        }
    }
}
