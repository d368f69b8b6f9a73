internal import Dispatch
internal import LatchkeyClient
internal import LatchkeyHTTP
internal import LatchkeyStrategies

/// Sends the changes that clients ask a replica for on to its leader, and its answers back.
///
/// **Design.** A request takes one of a few lanes, or waits for one, and no thread of the server. A
/// lane is a serial queue, and does one request after the other: it sends it, waits for the
/// answer, and then until the replica has what the leader had at that time. `state` and `waits` are
/// guarded by locks, under which nothing else is done. The order in which the leader gets requests
/// of different connections is not promised.
///
/// Each request has a connection of its own. libcurl sends a request once more, whatever it does,
/// if a kept connection turns out to be closed: a change could be made twice.
final class Forwarder: Sendable {
    /// How many requests are sent at once.
    static let laneCount = 16
    /// How many are in a lane or wait for one.
    static let placeCount = 1024
    /// How long a request may wait for a lane.
    ///
    /// One whose turn comes later is refused. Nothing was sent then.
    private static let turnNanosecondsMax: UInt64 = 2_000_000_000
    /// How long the leader may take.
    private static let answerTime = Duration.seconds(5)
    /// How long an answer waits until the replica has what the leader had.
    private static let levelMilliseconds = 1000

    private struct Job {
        let request: ServiceRequest
        /// Of the request, which must not be used once it is answered.
        let client: ClientKey
        let presence: Presence
        let nanoseconds: UInt64
    }

    private struct State {
        var idle = Array(0..<Forwarder.laneCount)
        var waiting: [Job] = []
    }

    private struct Wait {
        let since: UInt64
        let isLevel: DispatchSemaphore
    }

    private let settings: FollowSettings
    private let follow: FollowState
    /// Has the follower ask the leader now.
    private let hurry: @Sendable () -> Void
    private let lanes = (0..<laneCount).map { _ in DispatchQueue(label: "latchkey.forward") }
    private let places: SharedPlaces
    private let state = Guarded(State())
    private let waits = Guarded<[Wait]>([])

    init(
        _ settings: FollowSettings,
        _ follow: FollowState,
        placesOfClient: Int,
        hurry: @escaping @Sendable () -> Void
    ) {
        self.settings = settings
        self.follow = follow
        self.hurry = hurry
        places = SharedPlaces(countMax: Self.placeCount, clientCountMax: placesOfClient)
    }

    /// Takes a request over; false if it is not sent on.
    ///
    /// Those are: what another replica has sent on, so that two replicas do not send it to each
    /// other; what may wait at the leader, because that would hold a lane for so long; and what a
    /// token of this service does not allow, or a cookie or a certificate that the leader does not
    /// get.
    func takes(_ request: ServiceRequest) -> Bool {
        let exchange = request.exchange
        guard follow.isFollowing, !exchange.hasHeader(named: ForwardedRequest.mark),
            request.caller.isAnybody
                || request.caller.allows(.write) && exchange.hasHeader(named: .authorization),
            (try? request.parameters())?.parameters.contains(where: { $0.name == "wait" }) != true
        else { return false }
        let client = request.client
        do throws(RequestFailure) {
            try places.enter(
                client,
                orFail: .backlogFull,
                "changes that are sent on to the leader"
            )
        } catch {
            request.fail(error)
            return true
        }
        exchange.awaitAnswer(for: .seconds(30))
        let job = Job(
            request: request,
            client: client,
            presence: exchange.presence(),
            nanoseconds: StateAge.now()
        )
        let lane = state.write { state -> Int? in
            guard state.idle.isEmpty else { return state.idle.removeLast() }
            state.waiting.append(job)
            return nil
        }
        if let lane { lanes[lane].async { [self] in run(job, lane) } }
        return true
    }

    /// The replica has all that the leader had at a time.
    func isLevel(since nanoseconds: UInt64) {
        let ready = waits.write { waits in
            let ready = waits.filter { $0.since <= nanoseconds }
            waits.removeAll { $0.since <= nanoseconds }
            return ready
        }
        for wait in ready { wait.isLevel.signal() }
    }

    private func run(_ first: Job, _ lane: Int) {
        var next: Job? = first
        while let job = next {
            send(job)
            places.leave(job.client)
            next = state.write { state in
                guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
                state.idle.append(lane)
                return nil
            }
        }
    }

    private func send(_ job: Job) {
        var request = job.request
        guard !job.presence.isOver else { return request.answerInVain() }
        guard StateAge.now() - job.nanoseconds < Self.turnNanosecondsMax else {
            return request.fail(.backlogFull)
        }
        // It can have been promoted meanwhile.
        guard follow.isFollowing else { return request.fail(.leaderUnreachable) }
        let connection = ServiceConnection(
            origin: settings.leader,
            authorities: settings.authorities.isEmpty ? nil : settings.authorities,
            timeLimit: Self.answerTime
        )
        do throws(ConnectionFailure) {
            let answer = try connection.send(ForwardedRequest(request.exchange).request)
            if answer.isSuccess || answer.status == 412 { awaitLevel() }
            request.renewLevel()
            request.respond(answer)
        } catch {
            switch error.kind {
            case .unconnected, .untrusted: request.fail(.leaderUnreachable)
            case _: request.fail(.outcomeUnknown)
            }
        }
    }

    /// Waits until the replica has what the leader has now, if that comes soon.
    private func awaitLevel() {
        let wait = Wait(since: StateAge.now(), isLevel: DispatchSemaphore(value: 0))
        waits.write { $0.append(wait) }
        hurry()
        let end = DispatchTime.now() + .milliseconds(Self.levelMilliseconds)
        if wait.isLevel.wait(timeout: end) == .timedOut {
            waits.write { $0.removeAll { $0.isLevel === wait.isLevel } }
        }
    }
}
