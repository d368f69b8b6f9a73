internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeySettings
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import Synchronization

/// The keys of requests that are safe to repeat: which requests run, and the decisions on the
/// others.
///
/// **Design.** A key is taken by the first request that has it. Until that request is answered,
/// requests with the same key wait: they are kept here, and no thread waits. Then the next one
/// runs, and finds the decision of the first one, if that is kept in the ``IdentityTable``. So
/// taking a key and its decision are one step, whatever the store does meanwhile.
///
/// One lock guards all of it. Only the clock is called while it is held; its times are read there,
/// so that the table is in order.
///
/// Limits: a key and a waiting request take a place each, and bytes. A key takes room for a short
/// decision before its request runs. At a limit, expired keys are dropped. If there are none, the
/// request is refused. No key is dropped before its time, because a repeat would then run a second
/// time.
///
/// The length of a decision is not known before its request has run. The part beyond the reserved
/// room must fit into half of all bytes, so that long decisions never keep out new keys. A decision
/// that does not fit is not kept, but its key is: a repeat is told so.
final class IdempotencyKeys<Waiting: Sendable>: Sendable {
    /// The next step of a request with a key.
    enum Turn {
        /// Run, and call ``IdempotencyKeys/finish(_:)``.
        case run
        /// Wait: another one runs.
        ///
        /// ``IdempotencyKeys/take(_:_:)`` has not kept the request;
        /// ``IdempotencyKeys/wait(_:_:_:number:byteCount:)`` has.
        case wait
        /// Be refused, because the key belongs to another request.
        case reused
        /// Be refused, because there is no room.
        case full
        /// Be refused, because its client has its share of the room.
        case shareTaken
    }

    /// Ends a wait at a time, in nanoseconds of the monotonic clock, if it would end later.
    typealias EndWait = @Sendable (UInt64) -> Void

    private let clock: @Sendable () -> Timestamp
    private let state: Guarded<State>
    private let waitCount = Atomic<UInt64>(0)

    /// Nil if `Idempotency-Key` is switched off.
    ///
    /// - Parameters:
    ///   - limits: The limits.
    ///   - clientShare: One client gets one Nth of the places and of the bytes.
    ///   - clock: The clock of the store.
    init?(
        _ limits: IdempotencyLimits,
        clientShare: Int,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        guard let state = State(limits, clientShare: clientShare) else { return nil }
        self.clock = clock
        self.state = Synchronized(state)
    }

    // MARK: Requests that run and wait

    /// Takes the key for a request.
    ///
    /// - Parameters:
    ///   - identity: The identity of the request.
    ///   - client: The sender of the request.
    /// - Returns: The next step of the request.
    func take(_ identity: RequestIdentity, _ client: ClientKey) -> Turn {
        turn(identity, client) { _, _ in .wait }
    }

    /// The number of a wait that begins; no other wait has it.
    func nextWait() -> UInt64 {
        waitCount.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Takes the key as ``take(_:_:)`` does, or waits for it.
    ///
    /// - Parameters:
    ///   - identity: The identity of the request.
    ///   - client: The sender of the request.
    ///   - waiting: The request, kept if it has to wait.
    ///   - number: The number of the wait, from ``nextWait()``.
    ///   - byteCount: How much memory the request takes while it waits.
    ///   - deadline: The time when it wants an answer, in nanoseconds of the monotonic clock.
    /// - Returns: The next step of the request.
    func wait(
        _ identity: RequestIdentity,
        _ client: ClientKey,
        _ waiting: Waiting,
        number: UInt64,
        byteCount: Int,
        deadline: UInt64 = .max
    ) -> Turn {
        turn(identity, client) { state, now in
            let waiting = State.WaitingRequest(
                request: waiting,
                owner: client.owner,
                number: number,
                byteCount: State.waitingByteCount + byteCount,
                deadline: deadline
            )
            return Turn(state.wait(identity.key, waiting, now), .wait)
        }
    }

    /// Ends a wait whose client has gone, and gives its place back.
    ///
    /// - Parameters:
    ///   - key: The key that the request waits for.
    ///   - number: The number of the wait.
    /// - Returns: The request; nil if it does not wait any more, or not yet.
    func giveUp(_ key: [UInt8], _ number: UInt64) -> Waiting? {
        state.write { $0.giveUp(key, number) }
    }

    private func turn(
        _ identity: RequestIdentity,
        _ client: ClientKey,
        whileItRuns wait: (inout State, Timestamp) -> Turn
    ) -> Turn {
        state.write { state in
            let now = clock()
            state.dropExpired(now, countMax: 16)
            let known =
                state.running[identity.key]?.fingerprint
                ?? state.decided.entry(identity.key, at: now)?.fingerprint
            guard known == nil || known == identity.fingerprint else { return .reused }
            guard state.running[identity.key] == nil else { return wait(&state, now) }
            return Turn(state.take(identity, client.owner, now), .run)
        }
    }

    /// Sets the closure that ends the wait of the running request; nil once it does not wait.
    func setWait(_ end: EndWait?, of key: [UInt8]) {
        state.write { $0.running[key]?.endWait = end }
        endWait(of: key)
    }

    /// Ends the wait of the running request, if it waits, when the first of the requests with its
    /// key wants an answer.
    func endWait(of key: [UInt8]) {
        let entry = state.read { $0.running[key] }
        if let entry, let end = entry.endWait, entry.firstDeadline < .max {
            end(entry.firstDeadline)
        }
    }

    /// Notes that the request that ran has been answered.
    ///
    /// - Parameter key: The key that it took.
    /// - Returns: The request that runs now, which has waited.
    func finish(_ key: [UInt8]) -> Waiting? {
        state.write { $0.finish(key) }
    }

    // MARK: Requests that were decided

    /// The decision on an earlier request, for a running one; nil if there is none yet.
    func decision(of identity: RequestIdentity, _ change: Change) -> Decision? {
        state.write { state in
            let now = clock()
            if let entry = state.decided.entry(identity.key, at: now) {
                return entry.decision(of: identity, change)
            }
            return state.begin(identity.key, now) ? nil : .failure(.tooManyIdentities)
        }
    }

    /// The kept entry of an earlier request with the key; nil if there is none.
    func entry(_ key: [UInt8]) -> IdentityTable.Entry? {
        state.read { $0.decided.entry(key, at: clock()) }
    }

    /// Keeps the decision of a running request, if it is one to keep.
    func keep(_ decision: Decision, of identity: RequestIdentity, _ change: Change) {
        // All replicas know it, for the rest of its time.
        if case .success(let commit) = decision, commit.isRepeat { return }
        let byteCount = decision.shownByteCount(of: change)
        let hasRoom =
            byteCount <= IdentityTable.shortByteCount
            || state.write { $0.hasRoom(identity.key, byteCount, clock()) }
        // A decision without room is not copied.
        guard hasRoom else { return keep(nil, of: identity) }
        if let answer = KeptDecision(decision, of: change) { keep(answer, of: identity) }
    }

    /// Keeps the answer to a running request; nil if it is too long.
    func keep(_ answer: KeptDecision?, of identity: RequestIdentity) {
        state.write { $0.keep(identity, answer, clock()) }
    }

    /// Takes a record of an earlier process.
    ///
    /// Its key in any case: the change is made. The stored decisions can be more than there is room
    /// for. Records come in the order of their times.
    func restore(_ record: IdentityRecord) {
        state.write { state in
            state.dropExpired(record.time, countMax: .max)
            state.restore(record)
        }
    }

    /// How much memory they take now.
    var byteCount: Int { state.read { $0.used.byteCount } }

    /// How many keys have not expired.
    func count() -> Int {
        // In steps, so that no request waits for long.
        while state.write({ $0.dropExpired(clock(), countMax: 256) }) == 256 {}
        return state.read { $0.keyCount }
    }
}

extension IdempotencyKeys.Turn {
    fileprivate init(_ room: IdempotencyKeys.State.Room, _ turn: Self) {
        self =
            switch room {
            case .free: turn
            case .full: .full
            case .shareTaken: .shareTaken
            }
    }
}
