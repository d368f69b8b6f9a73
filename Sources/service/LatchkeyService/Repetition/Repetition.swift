internal import CLatchkeySystem
internal import Dispatch
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeyStrategies

/// Answers repeats of a request with its first answer, on the routes that are declared repeatable.
///
/// A request is repeated if it has the `Idempotency-Key` of an earlier one. Requests without the
/// header pay for the look-up of its name only.
///
/// **Design.** A key is taken when the request is complete: one whose body never ends takes none.
/// ``IdempotencyKeys`` decides which request runs. The request that runs carries an
/// ``AnswerKeeper``, which is told its answer in ``ServiceRequest/respond(_:body:fields:)``: the
/// real one, made by the handler when the store has decided, on whatever thread. An answer that the
/// server makes by itself because the handler is late (`outcome-unknown`) does not pass there. So
/// the key still runs, and a repeat waits for the real answer, also if the first client has gone.
///
/// A waiting request that runs after a refusal does so on `queue`: not on the thread that answered,
/// where one refusal would follow the other in a recursion.
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

    /// A request that waits for the answer to another one, with all that it needs to run.
    private struct Waiting: Sendable {
        let request: ServiceRequest
        let match: RouteMatch
        let route: RouteHandler
        let fingerprint: RequestFingerprint

        /// Why its sender may not see the answer to the first one, if that is so.
        ///
        /// It has lost a right since, or has waited meanwhile. What else is wrong with a request is
        /// what its answer says.
        var refusal: RequestFailure? {
            guard !request.caller.isRevoked else { return .revoked }
            guard !request.caller.isAnybody, case .tokenAgain(let ask) = route.need else {
                return nil
            }
            do throws(RequestFailure) {
                try ask(request, match)
            } catch  where error.problem == .forbidden {
                return error
            } catch {}
            return nil
        }
    }

    private let keys: IdempotencyKeys<Waiting>
    private let shareRefusals: ShareRefusals
    fileprivate let replays: Counter
    /// Whether all replicas of a cluster know the keys of changes, see ``IdentityTable``.
    ///
    /// Then a change whose outcome is not known may be sent again: it is made once.
    fileprivate let isShared: Bool
    private let queue = DispatchQueue(label: "latchkey.repetition")
    /// What ends the transactions that run, and wait, by their keys.
    private let waits = Synchronized<[[UInt8]: EndWait], AdaptiveStrategy>([:])

    /// Ends a wait by a time, in nanoseconds of the monotonic clock, if it would end later.
    typealias EndWait = @Sendable (UInt64) -> Void

    /// Nil if it is switched off.
    init?(
        _ limits: IdempotencyLimits,
        clientShare: Int,
        _ registry: MetricRegistry,
        isShared: Bool = false,
        clock: @escaping @Sendable () -> UInt64 = { latchkey_system_nanoseconds() }
    ) {
        guard limits.time > .zero else {
            return nil
        }
        let keys = IdempotencyKeys<Waiting>(limits, clientShare: clientShare, clock: clock)
        self.keys = keys
        self.isShared = isShared
        shareRefusals = ShareRefusals(registry, "idempotency-keys")
        replays = registry.counter(Self.replayCount)
        registry.collect([Self.keyCount, Self.byteCount]) { writer in
            writer.begin(Self.keyCount)
            writer.sample(.none, UInt64(keys.count()))
            writer.begin(Self.byteCount)
            writer.sample(.none, UInt64(keys.byteCount))
        }
    }

    convenience init?(_ limits: IdempotencyLimits, isShared: Bool, in frame: ServiceFrame) {
        self.init(
            limits,
            clientShare: frame.clientShare,
            frame.registry,
            isShared: isShared
        )
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
        let key = request.caller.scoped(Array(field))
        let waiting = Waiting(
            request: request,
            match: match,
            route: route,
            fingerprint: RequestFingerprint(request.exchange)
        )
        let turn = keys.take(key, request.client, waiting.fingerprint)
        if case .wait = turn {
            if let end = waits.read({ $0[key] }) {
                end(request.deadlineNanoseconds(request.repeatedWait))
            }
            wait(waiting, key)
        } else {
            act(turn, waiting, key)
        }
    }

    /// Waits for the key, and gives its place back if the client goes.
    ///
    /// Once the request waits, another thread can answer it. So the owner is named before that, and
    /// a client that has gone in between is looked for behind it.
    private func wait(_ waiting: Waiting, _ key: [UInt8]) {
        let exchange = waiting.request.exchange
        let number = keys.nextWait()
        let presence = Presence()
        exchange.whenGone {
            presence.end()
            self.giveUp(key, number)
        }
        let turn = keys.wait(
            key,
            waiting.request.client,
            waiting.fingerprint,
            waiting,
            number: number,
            // Its buffer has doubled as it grew.
            byteCount: 2 * exchange.body.count
        )
        act(turn, waiting, key)
        if presence.isOver {
            giveUp(key, number)
        }
    }

    fileprivate func setWait(_ end: EndWait?, of key: [UInt8]) {
        waits.write { $0[key] = end }
    }

    private func giveUp(_ key: [UInt8], _ number: UInt64) {
        keys.giveUp(key, number)?.request.answerInVain()
    }

    private func act(_ turn: IdempotencyKeys<Waiting>.Turn, _ waiting: Waiting, _ key: [UInt8]) {
        let request = waiting.request
        switch turn {
        case .run: run(waiting, key)
        case .wait: break
        case .answer(let answer): repeatAnswer(answer, to: waiting)
        case .reused: request.fail(.idempotencyKeyReused)
        case .full: request.fail(.tooManyIdempotencyKeys)
        case .shareTaken:
            shareRefusals.add()
            request.fail(
                .shareTaken("keys and kept answers (--idempotency-bytes)")
            )
        }
    }

    /// Visible ASCII.
    private static func isKey(_ field: Bytes) -> Bool {
        (1...255).contains(field.count) && field.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private func run(_ waiting: Waiting, _ key: [UInt8]) {
        var request = waiting.request
        request.witness = AnswerKeeper(
            key: key,
            fingerprint: waiting.fingerprint,
            repetition: self
        )
        guard !request.caller.isRevoked else {
            // It has waited for another one meanwhile.
            return request.fail(.revoked)
        }
        waiting.route.run(request, waiting.match)
    }

    private func repeatAnswer(_ answer: KeptAnswer, to waiting: Waiting) {
        let request = waiting.request
        if let refusal = waiting.refusal { return request.fail(refusal) }
        replays.add()
        // A repeat changes nothing, so that it can be refused.
        let status = HTTPStatus(rawValue: answer.status)
        request.respond(status, body: .bytes(answer.body), bound: .refuses) {
            for field in answer.fields {
                $0.add(field.name, text: field.value)
            }
            $0.add("Idempotency-Replayed", "true")
        } audit: {
            $0.isRepeat = true
        }
    }

    /// Takes the answer to a request of an earlier process.
    ///
    /// - Parameters:
    ///   - note: The key and its answer.
    ///   - age: The time since the answer.
    func restore(_ note: RepetitionNote, age: Duration) {
        keys.restore(
            Array(note.key),
            note.client,
            RequestFingerprint(Array(note.fingerprint)),
            note.answer,
            age: age
        )
    }

    fileprivate func hasRoom(_ key: [UInt8], _ byteCount: Int) -> Bool {
        keys.reserve(key, byteCount: byteCount)
    }

    /// Says how the request that ran with this key was answered.
    fileprivate func finish(_ key: [UInt8], _ answer: KeptAnswer?) {
        switch keys.finish(key, answer) {
        case .answer(let waiting):
            guard let answer else {
                return
            }
            for one in waiting {
                repeatAnswer(answer, to: one)
            }
        case .run(let next):
            queue.async { self.run(next, key) }
        }
    }
}

/// Is told the answer to the request that runs with a key.
final class AnswerKeeper: AnswerWitness {
    private let key: [UInt8]
    private let fingerprint: RequestFingerprint
    private let repetition: Repetition
    private let repeats = Guarded(false)

    init(key: [UInt8], fingerprint: RequestFingerprint, repetition: Repetition) {
        self.key = key
        self.fingerprint = fingerprint
        self.repetition = repetition
    }

    /// What the request is known by at other replicas.
    var identity: RequestIdentity {
        RequestIdentity(key: key, fingerprint: fingerprint.bytes)
    }

    /// Whether all replicas of a cluster know the key of a change.
    var isShared: Bool { repetition.isShared }

    /// Whether the answer is that to a request which another replica, or an earlier process, ran.
    var isRepeat: Bool { repeats.read { $0 } }

    func noteRepeat() {
        repeats.write { $0 = true }
        repetition.replays.add()
    }

    /// Says that the request was not decided: a repeat runs.
    func free() {
        keep(.unavailable, fields: nil, body: nil)
    }

    /// Says that the request waits: a repeat that waits less long ends it.
    func begins(_ end: @escaping Repetition.EndWait) {
        repetition.setWait(end, of: key)
    }

    func endsWait() {
        repetition.setWait(nil, of: key)
    }

    /// The key and its answer, to be stored with the commit that it is about.
    func note(_ client: ClientKey, _ answer: KeptAnswer?) -> [UInt8]? {
        answer.map { RepetitionNote(key, client, fingerprint, $0).encoded }
    }

    /// Whether an answer is one to keep, and there is room for its body.
    ///
    /// - Parameters:
    ///   - status: Of the answer.
    ///   - byteCount: The length of its body.
    /// - Returns: Whether ``keep(_:fields:body:)`` needs the body.
    func keeps(_ status: HTTPStatus, _ byteCount: Int) -> Bool {
        KeptAnswer.keeps(status) && repetition.hasRoom(key, byteCount)
    }

    /// Keeps the answer, if it is one to keep.
    ///
    /// - Parameters:
    ///   - status: Of the answer.
    ///   - fields: Its header fields; nil if it could not be made.
    ///   - body: Its body; nil if there is no room for it.
    func keep(_ status: HTTPStatus, fields: [ResponseField]?, body: [UInt8]?) {
        repetition.finish(key, KeptAnswer(status, fields: fields, body: body))
    }
}

extension ServiceRequest {
    /// How long a repeat wants to wait; what is wrong with the text was said to the first one.
    fileprivate var repeatedWait: TimeToLive {
        let parameter = (try? parameters())?.parameters.first { $0.name == "wait" }
        return (try? Self.wait(parameter?.value)) ?? 0
    }
}
