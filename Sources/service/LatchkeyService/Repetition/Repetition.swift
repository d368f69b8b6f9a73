internal import CLatchkeySystem
internal import Dispatch
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import Synchronization

/// Gives a repeated request the first answer, on the routes that change something.
///
/// A request is repeated if it has the `Idempotency-Key` of an earlier one. Requests without the
/// header pay for the look-up of its name only.
///
/// **Design.** A key is taken when the request is complete: a request whose body never ends takes
/// none. ``IdempotencyKeys`` decides which request runs. It carries a ``RequestKey``, by which its
/// route finds the decision on an earlier request, or keeps the decision that is made now: see
/// ``Keeping``. The answer to a repeat is made of that decision, by the code that made the first
/// answer, and with the rights that its sender has now. An answer that the server itself makes
/// because the store is late (`outcome-unknown`) is not the route's. So the key still runs, and a
/// repeat waits for the decision, also if the first client has gone.
///
/// A waiting request runs on `queue`: not on the thread that answered, where the answers would
/// follow each other in a recursion.
final class Repetition: RequestStep {
    private static let keyCount = MetricFamily(
        "latchkey_idempotency_keys",
        .gauge,
        help: "Idempotency keys whose request runs or whose answer is kept."
    )
    private static let byteCount = MetricFamily(
        "latchkey_idempotency_bytes",
        .gauge,
        help: "Bytes of the keys, of kept answers, and of requests that wait for one.",
        unit: "bytes"
    )
    private static let replayCount = MetricFamily(
        "latchkey_idempotency_replays_total",
        .counter,
        help: "Requests that were answered with the answer to an earlier one with their key."
    )

    /// A request that waits for another one to be answered, with all that it needs to run.
    struct Waiting: Sendable {
        fileprivate let request: ServiceRequest
        fileprivate let match: RouteMatch
        fileprivate let route: RouteHandler
        fileprivate let identity: RequestIdentity
    }

    typealias EndWait = IdempotencyKeys<Waiting>.EndWait

    let keys: IdempotencyKeys<Waiting>
    let replays: Counter
    private let shareRefusals: ShareRefusals
    private let queue = DispatchQueue(label: "latchkey.repetition")
    /// Whether a key can have the whole answer of an earlier version.
    private let hasEarlierAnswers = Atomic<Bool>(false)

    /// Nil if it is switched off.
    init?(
        _ limits: IdempotencyLimits,
        clientShare: Int,
        _ registry: MetricRegistry,
        clock: @escaping @Sendable () -> Timestamp = StoreClock.system.now
    ) {
        guard let keys = IdempotencyKeys<Waiting>(limits, clientShare: clientShare, clock: clock)
        else { return nil }
        self.keys = keys
        shareRefusals = ShareRefusals(registry, "idempotency-keys")
        replays = registry.counter(Self.replayCount)
        registry.collect([Self.keyCount, Self.byteCount]) { writer in
            writer.begin(Self.keyCount)
            writer.sample(.none, UInt64(keys.count()))
            writer.begin(Self.byteCount)
            writer.sample(.none, UInt64(keys.byteCount))
        }
    }

    convenience init?(_ limits: IdempotencyLimits, in frame: ServiceFrame) {
        self.init(limits, clientShare: frame.clientShare, frame.registry)
        frame.bounds.add("max-idempotency-keys", limits.keyCountMax) { [self] in keyCount }
        frame.bounds.add("idempotency-bytes", limits.byteCountMax) { [self] in byteCount }
    }

    /// Keys whose request runs or whose answer is kept.
    var keyCount: Int { keys.count() }

    /// Bytes of the keys, of kept answers, and of requests that wait for one.
    var byteCount: Int { keys.byteCount }

    var statuses: [UInt16] { [] }

    /// Takes a request that has an `Idempotency-Key`.
    func takes(
        _ request: inout ServiceRequest,
        _ match: RouteMatch,
        _ route: RouteHandler
    ) -> Bool {
        guard let field = request.exchange.header(named: .idempotencyKey) else {
            return false
        }
        take(field, request, match, route)
        return true
    }

    private func take(
        _ field: Bytes,
        _ request: ServiceRequest,
        _ match: RouteMatch,
        _ route: RouteHandler
    ) {
        guard Self.isKey(field), request.exchange.headerCount(named: "idempotency-key") == 1 else {
            request.fail(.invalidIdempotencyKey)
            return
        }
        let waiting = Waiting(
            request: request,
            match: match,
            route: route,
            identity: RequestIdentity(
                key: request.caller.scoped(Array(field)),
                fingerprint: RequestFingerprint(request.exchange).bytes
            )
        )
        let turn = keys.take(waiting.identity, request.client)
        if case .wait = turn {
            wait(waiting)
        } else {
            act(turn, waiting)
        }
    }

    /// Waits for the key, and gives its place back if the client goes.
    ///
    /// Once the request waits, another thread can run it. So `whenGone` is called before that, and
    /// afterwards the request is given up if its client has gone in between.
    private func wait(_ waiting: Waiting) {
        let exchange = waiting.request.exchange
        let number = keys.nextWait()
        let presence = Presence()
        let key = waiting.identity.key
        exchange.whenGone {
            presence.end()
            self.giveUp(key, number)
        }
        let turn = keys.wait(
            waiting.identity,
            waiting.request.client,
            waiting,
            number: number,
            // Its buffer doubles as it grows.
            byteCount: 2 * exchange.body.count,
            deadline: waiting.request.repeatDeadline
        )
        act(turn, waiting)
        if case .wait = turn { keys.endWait(of: key) }
        if presence.isOver {
            giveUp(key, number)
        }
    }

    private func giveUp(_ key: [UInt8], _ number: UInt64) {
        keys.giveUp(key, number)?.request.answerInVain()
    }

    private func act(_ turn: IdempotencyKeys<Waiting>.Turn, _ waiting: Waiting) {
        let request = waiting.request
        switch turn {
        case .run: run(waiting)
        case .wait: break
        case .reused: request.fail(.idempotencyKeyReused)
        case .full: request.fail(.tooManyIdempotencyKeys)
        case .shareTaken:
            shareRefusals.add()
            request.fail(.shareTaken("keys and kept answers (--idempotency-bytes)"))
        }
    }

    /// Visible ASCII.
    private static func isKey(_ field: Bytes) -> Bool {
        (1...255).contains(field.count) && field.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private func run(_ waiting: Waiting) {
        var request = waiting.request
        let key = RequestKey(waiting.identity, request.client.owner, self)
        request.witness = key
        guard !request.caller.isRevoked else {
            // It may have waited for another one meanwhile.
            return request.fail(.revoked)
        }
        if hasEarlierAnswers.load(ordering: .relaxed),
            let answer = key.kept?.answer.flatMap({ EarlierAnswer($0.bytes) })
        {
            do throws(RequestFailure) {
                try waiting.askAgain()
            } catch {
                return request.fail(error)
            }
            key.noteRepeat()
            return answer.respond(to: request)
        }
        waiting.route.run(request, waiting.match)
    }

    /// Restores the decisions on requests of an earlier process.
    ///
    /// - Parameters:
    ///   - note: The note of a commit.
    ///   - time: The time of the commit.
    func restore(_ note: [UInt8], at time: Timestamp) {
        if let record = EarlierAnswer.record(note, at: time) {
            hasEarlierAnswers.store(true, ordering: .relaxed)
            keys.restore(record)
        }
        for record in IdentityRecord.records(note, .own) ?? [] { keys.restore(record) }
    }

    /// Notes that the request that ran with this key was answered.
    func finish(_ key: [UInt8]) {
        if let next = keys.finish(key) {
            queue.async { self.run(next) }
        }
    }
}

extension Repetition.Waiting {
    /// Checks again the rights that a kept answer needs.
    ///
    /// The sender may have lost one since, or while it waited. All other faults of the request are
    /// left to its kept answer.
    fileprivate func askAgain() throws(RequestFailure) {
        guard !request.caller.isAnybody, case .tokenAgain(let ask) = route.need else { return }
        do throws(RequestFailure) {
            try ask(request, match)
        } catch  where error.problem == .forbidden {
            throw error
        } catch {}
    }
}

extension ClientKey {
    /// The owner of a key, as it is stored.
    var owner: KeyOwner { KeyOwner(kind: kindNumber, number: bits) }
}

extension ServiceRequest {
    /// The time when a repeat wants an answer, in nanoseconds of the monotonic clock; never if its
    /// `wait` is not valid, which its answer will say.
    fileprivate var repeatDeadline: UInt64 {
        let parameter = (try? parameters())?.parameters.first { $0.name == "wait" }
        guard let wait = try? Self.wait(parameter?.value) else { return .max }
        return wait > 0 ? deadlineNanoseconds(wait) : latchkey_system_nanoseconds()
    }
}
