internal import Dispatch
internal import LatchkeyClient
package import LatchkeyFrame
internal import LatchkeyMachine
package import LatchkeyStore
internal import LatchkeyStrategies
internal import Synchronization

/// Follows a leader: takes its whole state, then its changes, one request after the other.
///
/// **Design.** A serial queue does all of it: the loop until it is asked to stop, and then the
/// promotion. `seed()` runs before, on the main thread. An answer with all changes shows that the
/// state is that of the leader at some time after the request was sent; so the age counts from the
/// time before the request. No clock of the leader is used.
package final class Follower: Sendable {
    /// How long the next question waits when there was nothing new.
    private static let pause = Duration.milliseconds(50)
    private static let commitCountMax = 1000
    /// A leader ends a page after this many bytes of names and values, or that many commits.
    private static let pageByteCount = 4 << 20

    package let state: FollowState
    private let settings: FollowSettings
    /// The limits of the store that follows.
    private let limits: StoreLimits
    private let log: Log
    private let clock: StoreClock
    private let queue = DispatchQueue(label: "latchkey.follow", qos: .userInitiated)
    private let isStopping = Atomic<Bool>(false)
    private let isAsked = Atomic<Bool>(false)
    /// Ends a pause.
    private let wakeUp = DispatchSemaphore(value: 0)
    /// Nil until the service follows.
    private let copy = Guarded<LeaderCopy?>(nil)

    package init(
        _ settings: FollowSettings,
        _ state: FollowState,
        _ limits: StoreLimits,
        _ log: Log,
        clock: StoreClock = .system
    ) {
        self.settings = settings
        self.limits = limits
        self.state = state
        self.log = log
        self.clock = clock
    }

    /// The reason of a failed step.
    private struct Failure: Error {
        let reason: String
        /// The leader does not have all changes after the revision, or they do not fit.
        var isGap = false

        init(_ reason: String, isGap: Bool = false) {
            self.reason = reason
            self.isGap = isGap
        }
    }

    /// A whole state, and the time before it was asked for.
    package struct Seed: Sendable {
        package let properties: [Property]
        package let revision: Revision
        let nanoseconds: UInt64
    }

    /// Waits for the first whole state.
    ///
    /// - Throws: Once a signal has come that ends the service: no thread waits for one yet.
    package func seed() throws(StartFailure) -> Seed {
        var pause = RetryPause()
        while true {
            do throws(Failure) {
                return try export(connection()) { EndingSignals.isPending }
            } catch {
                fail(error)
            }
            let end = ContinuousClock.now + pause.next()
            while ContinuousClock.now < end {
                guard !EndingSignals.isPending else {
                    throw StartFailure(
                        reason: "A signal ended the replica before its leader answered.",
                        isAsked: true
                    )
                }
                _ = wakeUp.wait(timeout: .now() + .milliseconds(20))
            }
        }
    }

    /// Begins to follow, after the state that the store has.
    package func start(_ copy: LeaderCopy, _ seed: Seed) {
        self.copy.write { $0 = copy }
        state.reaches(seed.revision)
        state.isLevel(since: seed.nanoseconds)
        log.write(
            .info,
            "following",
            ["leader": settings.leader, "properties": "\(seed.properties.count)"]
        )
        queue.async { [self] in run(copy) }
    }

    /// Ends the loop; does not wait.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        wakeUp.signal()
    }

    /// Stops following, and makes this service a leader.
    ///
    /// - Parameter completion: Given the revision after which its own commits begin; nil if it
    ///   leads already, or is about to.
    func promote(completion: @escaping @Sendable (Revision?) -> Void) {
        guard let copy = copy.read({ $0 }), !isAsked.exchange(true, ordering: .relaxed)
        else { return completion(nil) }
        stop()
        // After the loop, which is one block of the queue.
        queue.async { [self] in
            let last = copy.revision
            // If the leader has used up the revisions, none can be skipped.
            let revision = Revision.laterLife(of: last, at: clock.now()) ?? last
            copy.jump(to: revision)
            state.promote()
            let advice = "have clients use this service, and start the leader only with --follow"
            log.write(.warning, "promoted", ["revision": "\(revision)", "advice": advice])
            completion(revision)
        }
    }

    private func run(_ copy: LeaderCopy) {
        var connection: ServiceConnection?
        var pause = RetryPause()
        var (isSeeding, wasLevel) = (false, false)
        while !isStopping.load(ordering: .acquiring) {
            do throws(Failure) {
                let open = if let connection { connection } else { try self.connection() }
                connection = open
                if isSeeding {
                    try reseed(copy, open)
                    (isSeeding, wasLevel) = (false, false)
                }
                let found = try step(copy, open)
                guard found != .more else { continue }
                if found == .level {
                    wasLevel = true
                    pause.restart()
                }
                wait(Self.pause)
            } catch {
                guard !isStopping.load(ordering: .acquiring) else { return }
                if error.isGap, !isSeeding {
                    isSeeding = true
                    // Only after it was up to date may the next export follow at once: the history
                    // of a leader can be too short for the time that an export takes.
                    if !wasLevel { wait(pause.next()) }
                    continue
                }
                fail(error)
                // A file with another token may be there by now.
                connection = nil
                wait(pause.next())
            }
        }
    }

    /// The result of a page of changes.
    private enum Page {
        /// The state is up to date with that of the leader.
        case level
        /// There are more, and the page was full.
        case more
        /// There are more, although the page had room for them: no leader of this version does
        /// that.
        ///
        /// It is not asked again at once: else it could cause endless requests.
        case little
    }

    /// The longest page of a leader: the last commit can come whole after the others.
    ///
    /// That commit has a KiB for each unit of its work, and the size of its request; names come
    /// escaped.
    private var pageByteCountMax: Int {
        2 * (Self.pageByteCount + limits.changeUnitsMax << 10 + limits.valueByteCountMax)
    }

    /// Takes the next changes.
    private func step(
        _ copy: LeaderCopy,
        _ connection: ServiceConnection
    ) throws(Failure) -> Page {
        let before = StateAge.now()
        var request = ClientRequest(.get, "/v1/changes")
        request.add("replica", "true")
        request.add("after", "\(copy.revision)")
        request.add("limit", "\(Self.commitCountMax)")
        request.answerByteCountMax = pageByteCountMax
        let answer = try send(request, connection)
        guard answer.status != 410 else {
            throw Failure("The leader has not all changes of before.", isGap: true)
        }
        try check(answer)
        guard let changes = LeaderText.changes(answer.body), changes.follows(copy.revision)
        else {
            throw Failure("The answer of the leader to /v1/changes cannot be read.")
        }
        state.hears(of: changes.latest)
        for commit in changes.commits {
            switch copy.apply(commit) {
            case .applied: break
            case .misfit: throw Failure("The leader's changes do not fit.", isGap: true)
            case .beyondBounds(let reason): throw Failure(reason)
            }
            state.reaches(commit.revision)
        }
        guard copy.revision == changes.next else {
            throw Failure("The leader's changes have a gap.", isGap: true)
        }
        guard changes.next == changes.latest else {
            // Each name and value is in the text, which has some bytes more for each effect.
            let isFull =
                changes.commits.count >= Self.commitCountMax
                || answer.body.count >= Self.pageByteCount / 2
            return isFull ? .more : .little
        }
        state.isLevel(since: before)
        return .level
    }

    /// Takes the whole state again, unless it is of an earlier revision.
    private func reseed(
        _ copy: LeaderCopy,
        _ connection: ServiceConnection
    ) throws(Failure) {
        state.enters(.seeding)
        let seed = try export(connection) { isStopping.load(ordering: .acquiring) }
        guard seed.revision >= copy.revision else {
            state.enters(.diverged)
            throw Failure(
                "The leader has gone back to revision \(seed.revision), before "
                    + "\(copy.revision) of this replica. Start the replica again, or promote it."
            )
        }
        copy.replace(with: seed.properties, at: seed.revision)
        state.restarts()
        state.reaches(seed.revision)
        state.isLevel(since: seed.nanoseconds)
        let reason = "the leader's history begins after the last change that was copied"
        log.write(.warning, "exported again", ["revision": "\(seed.revision)", "reason": reason])
    }

    private func export(
        _ connection: ServiceConnection,
        isCancelled: () -> Bool
    ) throws(Failure) -> Seed {
        let before = StateAge.now()
        var request = ClientRequest(.get, "/v1/export")
        request.add("replica", "true")
        request.isStream = true
        var text = LeaderText.State(limits)
        let answer: ClientAnswer
        do throws(ConnectionFailure) {
            answer = try unsafe connection.stream(request, isCancelled: isCancelled) { bytes in
                unsafe text.feed(bytes)
                return text.failure == nil
            }
        } catch {
            if let failure = text.failure { throw Failure(failure) }
            throw Failure("The export is cut off: \(error.message).")
        }
        try check(answer)
        if let failure = text.failure { throw Failure(failure) }
        guard let revision = text.revision else {
            throw Failure("The export of the leader is cut off.")
        }
        state.hears(of: revision)
        return Seed(properties: text.properties, revision: revision, nanoseconds: before)
    }

    private func connection() throws(Failure) -> ServiceConnection {
        do throws(ClientFailure) {
            return try settings.connection()
        } catch {
            throw Failure(error.message)
        }
    }

    private func send(
        _ request: ClientRequest,
        _ connection: ServiceConnection
    ) throws(Failure) -> ClientAnswer {
        do throws(ConnectionFailure) {
            return try connection.send(request) { isStopping.load(ordering: .acquiring) }
        } catch {
            throw Failure("No answer: \(error.message).")
        }
    }

    private func check(_ answer: ClientAnswer) throws(Failure) {
        guard answer.isSuccess else {
            throw Failure("The leader answers \(answer.status).")
        }
    }

    private func fail(_ failure: Failure) {
        state.fails(failure.reason)
        log.write(
            .warning,
            "leader not followed",
            ["leader": settings.leader, "reason": failure.reason]
        )
    }

    private func wait(_ time: Duration) {
        let milliseconds =
            time.components.seconds * 1000
            + time.components.attoseconds / 1_000_000_000_000_000
        _ = wakeUp.wait(timeout: .now() + .milliseconds(Int(milliseconds)))
    }
}
