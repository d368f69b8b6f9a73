internal import LatchkeySettings
internal import LatchkeyStore
internal import LatchkeyStrategies

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
/// Bounds: a key and a waiting request take a place each, and bytes. At a bound, expired keys are
/// dropped. If there are none, the request is refused. No key is dropped before its time, because a
/// repeat would then run a second time.
final class IdempotencyKeys<Waiting: Sendable>: Sendable {
    /// What a request with a key is to do.
    enum Turn {
        /// Run, and call ``IdempotencyKeys/finish(_:_:)``.
        case run
        /// Nothing: it is answered when the request that runs has finished.
        case wait
        /// Give this answer again.
        case answer(KeptAnswer)
        /// Be refused, because the key belongs to another request.
        case reused
        /// Be refused, because there is no room.
        case full
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

    /// - Parameters:
    ///   - limits: The bounds; the time is not zero.
    ///   - clock: Nanoseconds of a monotonic clock.
    init(_ limits: IdempotencyLimits, clock: @escaping @Sendable () -> UInt64) {
        lifetimeNanoseconds = UInt64(limits.time.wholeNanoseconds)
        self.clock = clock
        table = Synchronized(Table(limits))
    }

    /// Takes the key for a request, or finds the answer to its first one.
    ///
    /// - Parameters:
    ///   - key: What the client has sent.
    ///   - fingerprint: Of the request.
    ///   - waiting: The request, kept if it has to wait.
    ///   - byteCount: How much memory the request takes while it waits.
    /// - Returns: What the request is to do.
    func take(
        _ key: [UInt8],
        _ fingerprint: RequestFingerprint,
        _ waiting: Waiting,
        byteCount: Int
    ) -> Turn {
        table.write { table in
            let now = clock()
            table.dropExpired(now, countMax: 16)
            table.drop(key, ifExpired: now)
            guard let entry = table.entries[key] else {
                return table.add(key, fingerprint, now) ? .run : .full
            }
            guard entry.fingerprint == fingerprint else {
                return .reused
            }
            if case .finished(let answer, _) = entry.state {
                return .answer(answer)
            }
            return table.wait(key, waiting, byteCount, now) ? .wait : .full
        }
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
            return .answer(table.keep(key, answer, expires: clock() + lifetimeNanoseconds))
        }
    }

    /// How many keys there are, whose time is not over.
    func count() -> Int {
        // In steps, so that no request waits for long.
        while table.write({ $0.dropExpired(clock(), countMax: 256) }) == 256 {}
        return table.read { $0.entries.count }
    }
}

extension IdempotencyKeys {
    /// What the lock guards.
    struct Table: Sendable {
        /// What an entry takes beside the bytes of its key and its answer: its place in the table
        /// and in the queue, and the headers of their arrays.
        static var entryByteCount: Int { 320 }
        static var waitingByteCount: Int { 1024 }

        struct Entry {
            enum State {
                case running([(request: Waiting, byteCount: Int)])
                case finished(KeptAnswer, expires: UInt64)
            }

            let fingerprint: RequestFingerprint
            var state = State.running([])
        }

        private let keyCountMax: Int
        private let byteCountMax: Int
        private(set) var entries: [[UInt8]: Entry] = [:]
        private(set) var byteCount = 0
        private var waitingCount = 0
        /// The finished keys.
        private var expiring = RingBuffer<(key: [UInt8], expires: UInt64)>()

        init(_ limits: IdempotencyLimits) {
            keyCountMax = limits.keyCountMax
            byteCountMax = limits.byteCountMax
        }

        /// Makes room for one more; false if there is none.
        private mutating func makeRoom(_ addedByteCount: Int, _ now: UInt64) -> Bool {
            func hasRoom() -> Bool {
                entries.count + waitingCount < keyCountMax
                    && byteCount + addedByteCount <= byteCountMax
            }
            while !hasRoom() {
                guard dropExpired(now, countMax: 1) == 1 else {
                    return false
                }
            }
            return true
        }

        mutating func add(
            _ key: [UInt8],
            _ fingerprint: RequestFingerprint,
            _ now: UInt64
        ) -> Bool {
            let added = Self.entryByteCount + key.count
            guard makeRoom(added, now) else {
                return false
            }
            byteCount += added
            entries[key] = Entry(fingerprint: fingerprint)
            return true
        }

        mutating func wait(
            _ key: [UInt8],
            _ request: Waiting,
            _ requestByteCount: Int,
            _ now: UInt64
        ) -> Bool {
            let added = Self.waitingByteCount + requestByteCount
            guard makeRoom(added, now) else {
                return false
            }
            byteCount += added
            waitingCount += 1
            withWaiting(of: key) { $0.append((request, added)) }
            return true
        }

        mutating func keep(_ key: [UInt8], _ answer: KeptAnswer, expires: UInt64) -> [Waiting] {
            let waiting = withWaiting(of: key) { $0 }
            waitingCount -= waiting.count
            byteCount += answer.byteCount - waiting.reduce(0) { $0 + $1.byteCount }
            entries[key]?.state = .finished(answer, expires: expires)
            expiring.append((key, expires))
            return waiting.map(\.request)
        }

        /// Frees a key, or leaves it to the request that has waited longest.
        mutating func free(_ key: [UInt8]) -> Waiting? {
            let next = withWaiting(of: key) { $0.isEmpty ? nil : $0.removeFirst() }
            guard let next else {
                entries[key] = nil
                byteCount -= Self.entryByteCount + key.count
                return nil
            }
            waitingCount -= 1
            byteCount -= next.byteCount
            return next.request
        }

        private mutating func withWaiting<Result>(
            of key: [UInt8],
            _ body: (inout [(request: Waiting, byteCount: Int)]) -> Result
        ) -> Result {
            guard case .running(var waiting) = entries[key]?.state else {
                preconditionFailure("Only a key whose request runs is finished or waited for.")
            }
            // Else the array would be copied.
            entries[key]?.state = .running([])
            defer { entries[key]?.state = .running(waiting) }
            return body(&waiting)
        }

        mutating func drop(_ key: [UInt8], ifExpired now: UInt64) {
            if case .finished(let answer, let expires) = entries[key]?.state, expires <= now {
                entries[key] = nil
                byteCount -= Self.entryByteCount + key.count + answer.byteCount
            }
        }

        /// Drops keys whose time is over, the oldest first, and returns how many it looked at.
        ///
        /// One that was dropped on its own, and perhaps taken again, is only passed over.
        @discardableResult
        mutating func dropExpired(_ now: UInt64, countMax: Int) -> Int {
            var count = 0
            while count < countMax, let first = expiring.first, first.expires <= now {
                _ = expiring.popFirst()
                drop(first.key, ifExpired: now)
                count += 1
            }
            return count
        }
    }
}
