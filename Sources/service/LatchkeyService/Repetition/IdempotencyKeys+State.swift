internal import LatchkeyFrame
internal import LatchkeyStore

extension IdempotencyKeys {
    /// The state that the lock guards.
    struct State: Sendable {
        /// The bytes of a waiting request besides its body: its connection object, which lives
        /// until the answer, also if its client has gone.
        static var waitingByteCount: Int { 4096 }

        struct WaitingRequest {
            let request: Waiting
            let owner: KeyOwner
            let number: UInt64
            let byteCount: Int
            /// The time when it wants an answer, in nanoseconds of the monotonic clock.
            let deadline: UInt64

            var use: Use { Use(count: 1, byteCount: byteCount) }
        }

        /// A key whose request runs.
        struct Entry {
            let owner: KeyOwner
            let fingerprint: [UInt8]
            /// The reserved room; none if the request was decided before.
            var reserved: Use
            var waiting: [WaitingRequest] = []
            /// Ends the wait of the request that runs.
            var endWait: EndWait?
            /// The time when the running request wants an answer, if it has waited for the key.
            var deadline = UInt64.max

            /// The time when the first of these requests wants an answer.
            var firstDeadline: UInt64 { waiting.reduce(deadline) { min($0, $1.deadline) } }
        }

        /// The use of all clients, or of one.
        struct Use {
            /// Keys and waiting requests.
            var count = 0
            var byteCount = 0
            /// The bytes of kept decisions beyond the room that each has; `byteCount` includes
            /// them.
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

            /// Long decisions may take half of the bytes.
            func exceeds(_ most: Use) -> Bool {
                count > most.count || byteCount > most.byteCount
                    || (longByteCount > 0 && longByteCount > most.byteCount / 2)
            }

            /// The use of a key with its decision.
            static func of(_ key: [UInt8], _ answerByteCount: Int) -> Use {
                Use(
                    count: 1,
                    byteCount: IdentityTable.entryByteCount + key.count + answerByteCount,
                    longByteCount: max(0, answerByteCount - IdentityTable.shortByteCount)
                )
            }
        }

        enum Room {
            case free, full, shareTaken
        }

        private let most: Use
        private let ownerMost: Use
        var running: [[UInt8]: Entry] = [:]
        private(set) var decided: IdentityTable
        private(set) var used = Use()
        private var waitingCount = 0
        private var usedByOwner: [KeyOwner: Use] = [:]

        /// Nil if `Idempotency-Key` is switched off.
        init?(_ limits: IdempotencyLimits, clientShare: Int) {
            guard let table = limits.table(isReplicated: false) else { return nil }
            decided = table
            most = Use(count: limits.keyCountMax, byteCount: limits.byteCountMax)
            ownerMost = Use(
                count: max(1, limits.keyCountMax / clientShare),
                // At least one key.
                byteCount: max(
                    min(limits.byteCountMax, IdempotencyLimits.byteCountMin),
                    limits.byteCountMax / clientShare
                )
            )
        }

        /// Keys whose request runs or whose decision is kept.
        var keyCount: Int { used.count - waitingCount }

        // MARK: Requests that run and wait

        /// Takes a key that no request has.
        mutating func take(
            _ identity: RequestIdentity,
            _ owner: KeyOwner,
            _ now: Timestamp
        ) -> Room {
            var entry = Entry(owner: owner, fingerprint: identity.fingerprint, reserved: Use())
            // Its decision has its room already.
            if decided.entry(identity.key, at: now) == nil {
                let room = reserve(identity.key, for: &entry, now)
                guard room == .free else { return room }
            }
            running[identity.key] = entry
            return .free
        }

        /// Makes room for a key and a short decision.
        private mutating func reserve(
            _ key: [UInt8],
            for entry: inout Entry,
            _ now: Timestamp
        ) -> Room {
            let use = Use.of(key, IdentityTable.shortByteCount)
            let room = room(for: use, of: entry.owner, now)
            if room == .free {
                add(use, of: entry.owner)
                entry.reserved = use
            }
            return room
        }

        mutating func wait(
            _ key: [UInt8],
            _ waiting: WaitingRequest,
            _ now: Timestamp
        ) -> Room {
            let room = room(for: waiting.use, of: waiting.owner, now)
            if room == .free {
                add(waiting.use, of: waiting.owner)
                waitingCount += 1
                running[key]?.waiting.append(waiting)
            }
            return room
        }

        mutating func giveUp(_ key: [UInt8], _ number: UInt64) -> Waiting? {
            guard let place = running[key]?.waiting.firstIndex(where: { $0.number == number }),
                let waiting = running[key]?.waiting.remove(at: place)
            else { return nil }
            leave(waiting)
            return waiting.request
        }

        /// Passes the key of an answered request on to the one that has waited longest, if there is
        /// one.
        mutating func finish(_ key: [UInt8]) -> Waiting? {
            running[key]?.endWait = nil
            guard running[key]?.waiting.isEmpty == false,
                let next = running[key]?.waiting.removeFirst()
            else {
                if let entry = running.removeValue(forKey: key) {
                    add(-entry.reserved, of: entry.owner)
                }
                return nil
            }
            running[key]?.deadline = next.deadline
            leave(next)
            return next.request
        }

        private mutating func leave(_ waiting: WaitingRequest) {
            add(-waiting.use, of: waiting.owner)
            waitingCount -= 1
        }

        // MARK: Requests that were decided

        /// Makes sure that the decision of a running request will have its room.
        ///
        /// - Returns: False if its earlier decision has expired, and there is no room for another
        ///   one.
        mutating func begin(_ key: [UInt8], _ now: Timestamp) -> Bool {
            guard var entry = running[key], entry.reserved.count == 0 else { return true }
            defer { running[key] = entry }
            return reserve(key, for: &entry, now) == .free
        }

        /// Whether there is room for a decision of this many bytes.
        mutating func hasRoom(_ key: [UInt8], _ byteCount: Int, _ now: Timestamp) -> Bool {
            guard byteCount > IdentityTable.shortByteCount, let entry = running[key] else {
                return true
            }
            let more = Use.of(key, byteCount) + -entry.reserved
            return room(for: more, of: entry.owner, now) == .free
        }

        /// Keeps the decision of a running request, unless it is kept already.
        mutating func keep(
            _ identity: RequestIdentity,
            _ answer: KeptDecision?,
            _ now: Timestamp
        ) {
            let key = identity.key
            drop(key, ifOverAt: now)
            guard let owner = running[key]?.owner, decided.entry(key, at: now) == nil else {
                return
            }
            let isKept = answer.map { hasRoom(key, $0.bytes.count, now) } == true
            if let reserved = running[key]?.reserved {
                add(-reserved, of: owner)
                running[key]?.reserved = Use()
            }
            add(
                IdentityRecord(
                    identity: identity,
                    time: now,
                    answer: isKept ? answer : nil,
                    owner: owner
                )
            )
        }

        /// Takes a record of an earlier process: its key in any case, and its decision if there is
        /// room.
        mutating func restore(_ record: IdentityRecord) {
            guard let owner = record.owner else { return }
            let key = record.identity.key
            drop(key, ifOverAt: Timestamp(milliseconds: .max))
            let answerByteCount = record.answer?.bytes.count ?? 0
            let isKept = room(for: .of(key, answerByteCount), of: owner, record.time) == .free
            add(isKept ? record : record.withoutAnswer)
        }

        private mutating func add(_ record: IdentityRecord) {
            guard let owner = record.owner else { return }
            decided.add(record)
            add(.of(record.identity.key, record.answer?.bytes.count ?? 0), of: owner)
        }

        private mutating func drop(_ key: [UInt8], ifOverAt now: Timestamp) {
            if let entry = decided.drop(key, ifOverAt: now) { giveBack(key, entry) }
        }

        /// Drops keys whose time is over, the oldest first.
        ///
        /// - Returns: How many it looked at.
        @discardableResult
        mutating func dropExpired(_ now: Timestamp, countMax: Int) -> Int {
            for count in 0..<countMax {
                guard let first = decided.dropFirst(ifOverAt: now) else { return count }
                if let entry = first.entry { giveBack(first.key, entry) }
            }
            return countMax
        }

        private mutating func giveBack(_ key: [UInt8], _ entry: IdentityTable.Entry) {
            if let owner = entry.owner { add(-.of(key, entry.answerByteCount), of: owner) }
        }

        // MARK: Room

        private mutating func add(_ use: Use, of owner: KeyOwner) {
            used = used + use
            let now = usedByOwner[owner, default: Use()] + use
            usedByOwner[owner] = now.count > 0 ? now : nil
        }

        /// Whether there is room for one more, once expired keys are dropped.
        private mutating func room(
            for use: Use,
            of owner: KeyOwner,
            _ now: Timestamp
        ) -> Room {
            while true {
                let isFull = (used + use).exceeds(most)
                let own = usedByOwner[owner, default: Use()] + use
                guard isFull || own.exceeds(ownerMost) else { return .free }
                guard dropExpired(now, countMax: 1) == 1 else {
                    return isFull ? .full : .shareTaken
                }
            }
        }
    }
}
