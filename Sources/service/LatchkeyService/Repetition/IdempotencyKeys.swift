internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeySettings
internal import LatchkeyStrategies
internal import Synchronization

/// The keys of requests that are safe to repeat: which ones run, and the answers of the others.
///
/// **Design.** A key is taken by the first request that has it. Until that request is finished,
/// requests with the same key wait: they are kept here, and no thread waits with them. A finished
/// key keeps the answer until its time is over. The time is counted from the answer, so keys expire
/// in the order in which they were finished, and `expiring` is a queue.
///
/// One lock guards the table. Nothing is called while it is held but the clock; its times are read
/// there, so that the queue is in order.
///
/// Bounds: a key and a waiting request take a place each, and bytes. A key takes room for a short
/// answer before its request runs. At a bound, expired keys are dropped. If there are none, the
/// request is refused. No key is dropped before its time, because a repeat would then run a second
/// time.
///
/// The length of an answer is not known before its request has run. What an answer needs beyond the
/// room that was reserved must fit into half of all bytes, so that long answers never keep out new
/// keys. An answer that does not fit is not kept: ``KeptAnswer/notKept`` takes its place.
final class IdempotencyKeys<Waiting: Sendable>: Sendable {
    /// What a request with a key is to do.
    enum Turn {
        /// Run, and call ``IdempotencyKeys/finish(_:_:)``.
        case run
        /// Wait: another one runs, with whose answer it is answered.
        ///
        /// ``IdempotencyKeys/take(_:_:_:)`` has not kept the request;
        /// ``IdempotencyKeys/wait(_:_:_:_:number:byteCount:)`` has.
        case wait
        /// Give this answer again.
        case answer(KeptAnswer)
        /// Be refused, because the key belongs to another request.
        case reused
        /// Be refused, because there is no room.
        case full
        /// Be refused, because its client has its share of the room.
        case shareTaken
    }

    /// What the requests that waited for a key are to do.
    enum Continuation {
        case answer([Waiting])
        /// Run as the first one did, and call ``IdempotencyKeys/finish(_:_:)``.
        case run(Waiting)
    }

    private let lifetimeNanoseconds: UInt64
    private let clock: @Sendable () -> UInt64
    private let table: Guarded<Table>
    private let waitCount = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - limits: The bounds; the time is not zero.
    ///   - clientShare: One client gets one in so many of the places and of the bytes.
    ///   - clock: Nanoseconds of a monotonic clock.
    init(
        _ limits: IdempotencyLimits,
        clientShare: Int,
        clock: @escaping @Sendable () -> UInt64
    ) {
        lifetimeNanoseconds = UInt64(limits.time.wholeNanoseconds)
        self.clock = clock
        table = Synchronized(Table(limits, clientShare: clientShare))
    }

    /// Takes the key for a request, or finds the answer to its first one.
    ///
    /// - Parameters:
    ///   - key: What the client has sent.
    ///   - client: Who has sent it.
    ///   - fingerprint: Of the request.
    /// - Returns: What the request is to do.
    func take(
        _ key: [UInt8],
        _ client: ClientKey,
        _ fingerprint: RequestFingerprint
    ) -> Turn {
        turn(key, client, fingerprint) { _, _ in .wait }
    }

    /// The number of a wait that begins, which is that of no other one.
    func nextWait() -> UInt64 {
        waitCount.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Takes the key as ``take(_:_:_:)`` does, or waits for it.
    ///
    /// - Parameters:
    ///   - key: What the client has sent.
    ///   - client: Who has sent it.
    ///   - fingerprint: Of the request.
    ///   - waiting: The request, kept if it has to wait.
    ///   - number: Of the wait, from ``nextWait()``.
    ///   - byteCount: How much memory the request takes while it waits.
    /// - Returns: What the request is to do.
    func wait(
        _ key: [UInt8],
        _ client: ClientKey,
        _ fingerprint: RequestFingerprint,
        _ waiting: Waiting,
        number: UInt64,
        byteCount: Int
    ) -> Turn {
        turn(key, client, fingerprint) { table, now in
            let waiting = Table.WaitingRequest(
                request: waiting,
                client: client,
                number: number,
                byteCount: Table.waitingByteCount + byteCount
            )
            return Turn(table.wait(key, waiting, now), .wait)
        }
    }

    /// Ends a wait whose client has gone, and gives its place back.
    ///
    /// - Parameters:
    ///   - key: What the request waits for.
    ///   - number: Of the wait.
    /// - Returns: The request; nil if it does not wait any more, or not yet.
    func giveUp(_ key: [UInt8], _ number: UInt64) -> Waiting? {
        table.write { $0.giveUp(key, number) }
    }

    private func turn(
        _ key: [UInt8],
        _ client: ClientKey,
        _ fingerprint: RequestFingerprint,
        whileItRuns wait: (inout Table, UInt64) -> Turn
    ) -> Turn {
        table.write { table in
            let now = clock()
            table.dropExpired(now, countMax: 16)
            table.drop(key, ifExpired: now)
            guard let entry = table.entries[key] else {
                return Turn(table.add(key, client, fingerprint, now), .run)
            }
            guard entry.fingerprint == fingerprint else {
                return .reused
            }
            if case .finished(let answer, _) = entry.state {
                return .answer(answer)
            }
            return wait(&table, now)
        }
    }

    /// Asks for the room that a long answer takes, before it is put together.
    ///
    /// - Parameters:
    ///   - key: That of the request that runs.
    ///   - byteCount: The length of the body.
    /// - Returns: Whether there is room, which ``finish(_:_:)`` gives back.
    func reserve(_ key: [UInt8], byteCount: Int) -> Bool {
        byteCount <= Table.answerByteCount
            || table.write { $0.reserve(key, byteCount, now: clock()) }
    }

    /// Says that the request that ran has been answered.
    ///
    /// - Parameters:
    ///   - key: The key that it took.
    ///   - answer: The answer to keep. Without one the next waiting request runs, and if there is
    ///     none, the key is free.
    /// - Returns: What the waiting requests are to do.
    func finish(_ key: [UInt8], _ answer: KeptAnswer?) -> Continuation {
        table.write { table in
            guard let answer else {
                return table.free(key).map { .run($0) } ?? .answer([])
            }
            let now = clock()
            let expires = now + lifetimeNanoseconds
            return .answer(table.keep(key, answer, now: now, expires: expires))
        }
    }

    /// Takes a key and its answer from an earlier process.
    ///
    /// Without looking at the bounds, which held when the request ran. Keys come in the order of
    /// their answers.
    ///
    /// - Parameters:
    ///   - key: What the client sent.
    ///   - client: Who sent it.
    ///   - fingerprint: Of the request.
    ///   - answer: The answer.
    ///   - age: The time since the answer.
    func restore(
        _ key: [UInt8],
        _ client: ClientKey,
        _ fingerprint: RequestFingerprint,
        _ answer: KeptAnswer,
        age: Duration
    ) {
        let (lifetime, age) = (lifetimeNanoseconds, UInt64(max(0, age.wholeNanoseconds)))
        guard age < lifetime else {
            return
        }
        table.write {
            $0.restore(key, client, fingerprint, answer, expires: clock() + lifetime - age)
        }
    }

    /// How much memory they take now.
    var byteCount: Int { table.read { $0.used.byteCount } }

    /// How many keys there are, whose time is not over.
    func count() -> Int {
        // In steps, so that no request waits for long.
        while table.write({ $0.dropExpired(clock(), countMax: 256) }) == 256 {}
        return table.read { $0.entries.count }
    }
}

extension IdempotencyKeys.Turn {
    fileprivate init(_ room: IdempotencyKeys.Table.Room, _ turn: Self) {
        self =
            switch room {
            case .free: turn
            case .full: .full
            case .shareTaken: .shareTaken
            }
    }
}
