internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyStore

extension IdempotencyKeys {
    /// What the lock guards.
    struct Table: Sendable {
        /// What an entry takes beside the bytes of its key and its answer: its place in the table
        /// and in the queue, and the headers of their arrays.
        static var entryByteCount: Int { 320 }
        /// The room for an answer while its request runs: enough for all but long values.
        static var answerByteCount: Int { 1024 }
        /// What a waiting request takes beside its body: its connection object, which lives until
        /// the answer, also if its client has gone.
        static var waitingByteCount: Int { 4096 }

        struct WaitingRequest {
            let request: Waiting
            let client: ClientKey
            let number: UInt64
            let byteCount: Int

            var use: Use { Use(count: 1, byteCount: byteCount) }
        }

        struct Entry {
            enum State {
                case running([WaitingRequest])
                case finished(KeptAnswer, expires: UInt64)
            }

            let client: ClientKey
            let fingerprint: RequestFingerprint
            /// What its answer can take.
            var reserved = Use.ofReservedAnswer
            var state = State.running([])
        }

        /// What all clients use, or one of them.
        struct Use {
            /// Keys and waiting requests.
            var count = 0
            var byteCount = 0
            /// What kept answers take beyond the room that each has, which is part of the bytes.
            var longByteCount = 0

            static func + (one: Use, other: Use) -> Use {
                Use(
                    count: one.count + other.count,
                    byteCount: one.byteCount + other.byteCount,
                    longByteCount: one.longByteCount + other.longByteCount
                )
            }

            static prefix func - (one: Use) -> Use {
                Use(
                    count: -one.count,
                    byteCount: -one.byteCount,
                    longByteCount: -one.longByteCount
                )
            }

            /// Long answers have half of the bytes.
            func exceeds(_ most: Use) -> Bool {
                count > most.count || byteCount > most.byteCount
                    || (longByteCount > 0 && longByteCount > most.byteCount / 2)
            }

            /// What an answer takes.
            static func of(_ answer: KeptAnswer) -> Use { ofAnswer(answer.byteCount) }

            static func ofAnswer(_ byteCount: Int) -> Use {
                Use(byteCount: byteCount, longByteCount: max(0, byteCount - answerByteCount))
            }

            static func ofKey(_ key: [UInt8]) -> Use {
                Use(count: 1, byteCount: entryByteCount + key.count)
            }

            static var ofReservedAnswer: Use { Use(byteCount: answerByteCount) }
        }

        private let most: Use
        private let clientMost: Use
        private(set) var entries: [[UInt8]: Entry] = [:]
        private(set) var used = Use()
        private var usedByClient: [ClientKey: Use] = [:]
        /// The finished keys.
        private var expiring = RingBuffer<(key: [UInt8], expires: UInt64)>()

        init(_ limits: IdempotencyLimits, clientShare: Int) {
            most = Use(count: limits.keyCountMax, byteCount: limits.byteCountMax)
            clientMost = Use(
                count: max(1, limits.keyCountMax / clientShare),
                // At least one key.
                byteCount: max(
                    min(limits.byteCountMax, IdempotencyLimits.byteCountMin),
                    limits.byteCountMax / clientShare
                )
            )
        }

        private mutating func add(_ use: Use, of client: ClientKey) {
            used = used + use
            let now = usedByClient[client, default: Use()] + use
            usedByClient[client] = now.count > 0 ? now : nil
        }

        /// Whether there is room for one more, once the expired keys are dropped.
        private mutating func room(
            for use: Use,
            of client: ClientKey,
            _ now: UInt64
        ) -> Room {
            while true {
                let isFull = (used + use).exceeds(most)
                let own = usedByClient[client, default: Use()] + use
                guard isFull || own.exceeds(clientMost) else {
                    return .free
                }
                guard dropExpired(now, countMax: 1) == 1 else {
                    return isFull ? .full : .shareTaken
                }
            }
        }

        enum Room {
            case free, full, shareTaken
        }

        mutating func add(
            _ key: [UInt8],
            _ client: ClientKey,
            _ fingerprint: RequestFingerprint,
            _ now: UInt64
        ) -> Room {
            let use = Use.ofKey(key) + .ofReservedAnswer
            let room = room(for: use, of: client, now)
            if room == .free {
                add(use, of: client)
                entries[key] = Entry(client: client, fingerprint: fingerprint)
            }
            return room
        }

        mutating func wait(
            _ key: [UInt8],
            _ waiting: WaitingRequest,
            _ now: UInt64
        ) -> Room {
            let room = room(for: waiting.use, of: waiting.client, now)
            if room == .free {
                add(waiting.use, of: waiting.client)
                withWaiting(of: key) { $0.append(waiting) }
            }
            return room
        }

        mutating func giveUp(_ key: [UInt8], _ number: UInt64) -> Waiting? {
            guard case .running = entries[key]?.state else {
                return nil
            }
            let waiting = withWaiting(of: key) { list in
                list.firstIndex { $0.number == number }.map { list.remove(at: $0) }
            }
            if let waiting {
                leave(waiting)
            }
            return waiting?.request
        }

        /// Makes room for the part of a body that the room of each answer does not hold.
        mutating func reserve(_ key: [UInt8], _ byteCount: Int, now: UInt64) -> Bool {
            guard let entry = entries[key] else {
                preconditionFailure("Only a key whose request runs is finished.")
            }
            let more = Use.ofAnswer(byteCount) + -entry.reserved
            guard room(for: more, of: entry.client, now) == .free else {
                return false
            }
            add(more, of: entry.client)
            entries[key]?.reserved = entry.reserved + more
            return true
        }

        mutating func keep(
            _ key: [UInt8],
            _ answer: KeptAnswer,
            now: UInt64,
            expires: UInt64
        ) -> [Waiting] {
            let waiting = withWaiting(of: key) { $0 }
            for one in waiting {
                leave(one)
            }
            guard let entry = entries[key] else {
                preconditionFailure("Only a key whose request runs is finished.")
            }
            let client = entry.client
            add(-entry.reserved, of: client)
            // A short one has its room already.
            let isKept =
                answer.byteCount <= Self.answerByteCount
                || room(for: .of(answer), of: client, now) == .free
            let kept = isKept ? answer : .notKept
            add(.of(kept), of: client)
            entries[key]?.state = .finished(kept, expires: expires)
            expiring.append((key, expires))
            return waiting.map(\.request)
        }

        /// Takes a key that is finished.
        mutating func restore(
            _ key: [UInt8],
            _ client: ClientKey,
            _ fingerprint: RequestFingerprint,
            _ answer: KeptAnswer,
            expires: UInt64
        ) {
            drop(key, ifExpired: .max)
            add(.ofKey(key) + .of(answer), of: client)
            var entry = Entry(client: client, fingerprint: fingerprint)
            entry.state = .finished(answer, expires: expires)
            entries[key] = entry
            expiring.append((key, expires))
        }

        private mutating func leave(_ waiting: WaitingRequest) {
            add(-waiting.use, of: waiting.client)
        }

        /// Frees a key, or leaves it to the request that has waited longest.
        mutating func free(_ key: [UInt8]) -> Waiting? {
            let next = withWaiting(of: key) { $0.isEmpty ? nil : $0.removeFirst() }
            guard let next else {
                if let entry = entries.removeValue(forKey: key) {
                    add(-(.ofKey(key) + entry.reserved), of: entry.client)
                }
                return nil
            }
            leave(next)
            return next.request
        }

        private mutating func withWaiting<Result>(
            of key: [UInt8],
            _ body: (inout [WaitingRequest]) -> Result
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
            if let entry = entries[key], case .finished(let answer, let expires) = entry.state,
                expires <= now
            {
                entries[key] = nil
                add(-(.ofKey(key) + .of(answer)), of: entry.client)
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
