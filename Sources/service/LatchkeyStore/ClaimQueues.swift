internal import LatchkeySync

/// How far the properties of prefixes are claimed, so that a pop need not begin at the first one.
///
/// **Design.** A pop takes the first property that has no claim. The state alone decides which one
/// that is. The queues only remember where to look, and no replica needs the queues of another one.
/// So a pop costs the same units wherever it looks.
///
/// For each pair of prefixes with many claims, all properties up to `passed` have claims, except
/// for those in `free`. Each change of a table notes which names come and go, under the stripes
/// that it holds. A pop holds all stripes. It passes a few names that are claimed, which its units
/// pay for. If there are more, the stripes are given back, and the change is decided once more.
///
/// A lock guards the queues, and is the innermost one. Each table has the pairs of all queues, so
/// that it is entered for their names only.
final class ClaimQueues: Sendable {
    /// The maximum of queues; the least recently used one is dropped.
    private static let countMax = 256

    /// The result of a search for a property that a pop can take.
    enum Found {
        case name(PropertyName)
        case nothing
        /// The limit of passed names was reached: the stripes are to be given back first.
        case unknown
    }

    private struct State: Sendable {
        /// In the order of their use, the latest last.
        var queues: [ClaimQueue] = []
        /// Changes whenever the pairs change.
        var version = 0

        /// The first queue, in the order of prefixes, that a queue covers and whose prefix it has
        /// not passed yet.
        func next(behind queue: ClaimQueue) -> Int? {
            queues.indices.filter { queue.reaches(queues[$0]) }.min {
                unsafe queues[$0].pair.prefix.bytes.precedes(queues[$1].pair.prefix.bytes)
            }
        }

        mutating func firstFree(
            _ pair: ClaimPair,
            _ passedCountMax: Int,
            _ tables: [PropertyTable],
            at time: Timestamp,
            where isFree: (PropertyName) -> Bool
        ) -> Found {
            let index = queues.lastIndex { $0.covers(pair) }
            var queue =
                index.map { queues.remove(at: $0) } ?? ClaimQueue(pair.copy(), passedCountMax)
            var left = passedCountMax
            var found = queue.firstFree(pair.prefix, tables, at: time, where: isFree)
            while found == nil {
                let next = next(behind: queue)
                let end = next.map { queues[$0].pair.prefix }
                found = queue.pass(pair.prefix, until: end, tables, at: time, &left, where: isFree)
                if found == nil, let next {
                    queue.take(queues.remove(at: next))
                    version += 1
                    found = queue.firstFree(pair.prefix, tables, at: time, where: isFree)
                }
            }
            // A short walk is not kept: walking again is as fast as finding the queue.
            guard index != nil || queue.passedCount >= passedCountMax / 2 else {
                return found ?? .nothing
            }
            if index == nil {
                version += 1
            }
            if queues.count == ClaimQueues.countMax {
                queues.removeFirst()
            }
            queues.append(queue)
            return found ?? .nothing
        }
    }

    /// The maximum of names that a pop passes while the stripes are held.
    private let passedCountMax: Int
    private let state = Guarded<State>(State())

    init(_ limits: StoreLimits) {
        passedCountMax = limits.passedCountMax
    }

    /// How many names the known queues have passed.
    var passedCount: Int { state.read { $0.queues.reduce(0) { $0 + $1.passedCount } } }

    /// The pairs whose names are to be noted, if they are others than those of this version.
    func pairs(since version: Int) -> ClaimPairs? {
        state.read { state in
            state.version == version
                ? nil : ClaimPairs(version: state.version, all: state.queues.map(\.pair))
        }
    }

    /// Notes that a property has taken the place of another one, under its stripe.
    func note(_ name: PropertyName, _ former: Property?, _ property: Property?) {
        // A former property that is mortal can have expired: then this one is new.
        let comes = property != nil && (former == nil || former?.isMortal == true)
        guard comes || property == nil, former != nil || property != nil else { return }
        state.write { state in
            for index in state.queues.indices {
                state.queues[index].note(name, comes: comes)
            }
        }
    }

    /// Forgets all, because the properties were replaced.
    func forget() {
        state.write { $0 = State(version: $0.version + 1) }
    }

    /// The first property of the prefix that has no claim and that the caller can take, while all
    /// stripes are held.
    func firstFree(
        _ pair: ClaimPair,
        _ tables: [PropertyTable],
        at time: Timestamp,
        where isFree: (PropertyName) -> Bool
    ) -> Found {
        state.write { state in
            state.firstFree(pair, passedCountMax, tables, at: time, where: isFree)
        }
    }
}

/// How far the properties of one prefix are claimed.
///
/// It answers for each longer prefix, too, if the prefix of the claims is longer by the same.
struct ClaimQueue: Sendable {
    let pair: ClaimPair
    /// The maximum of free names, for each name that can be passed at a time.
    private static let freeCountFactor = 8

    private let freeCountMax: Int
    private(set) var passedCount = 0
    /// All names up to here are claimed or in `free`; nil if no name was looked at.
    private var passed: PropertyName?
    /// In their order.
    ///
    /// Some of them can be claimed or gone.
    private var free: [PropertyName] = []

    fileprivate init(_ pair: ClaimPair, _ passedCountMax: Int) {
        self.pair = pair
        freeCountMax = passedCountMax * Self.freeCountFactor
    }

    /// Whether the names of a pair are looked through here.
    fileprivate func covers(_ other: ClaimPair) -> Bool {
        pair == other || (pair.isWider(than: other) && isPassed(other.prefix))
    }

    /// Whether the names of another queue follow here.
    fileprivate func reaches(_ other: ClaimQueue) -> Bool {
        pair.isWider(than: other.pair) && !isPassed(other.pair.prefix)
    }

    /// Takes over the progress of another queue, whose first name is the next one.
    fileprivate mutating func take(_ other: ClaimQueue) {
        passed = other.passed ?? passed
        free += other.free
        passedCount += other.passedCount
    }

    fileprivate mutating func note(_ name: PropertyName, comes: Bool) {
        if comes, unsafe name.bytes.begins(with: pair.prefix.bytes), isPassed(name) {
            add(name)
        }
        if !comes, let claimed = pair.claimed(by: name), isPassed(claimed) {
            add(claimed)
        }
    }

    private func isPassed(_ name: PropertyName) -> Bool {
        passed.map { unsafe !$0.bytes.precedes(name.bytes) } ?? false
    }

    /// The place of the first free name that does not precede this one.
    private func place(of name: PropertyName) -> Int {
        var low = 0
        var high = free.count
        while low < high {
            let middle = (low + high) / 2
            if unsafe free[middle].bytes.precedes(name.bytes) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    private mutating func add(_ name: PropertyName) {
        let place = place(of: name)
        guard place == free.count || free[place] != name else { return }
        free.insert(name.copy(), at: place)
        if free.count > freeCountMax {
            // Names after the last one that is kept are looked at again.
            free.removeLast()
            passed = free.last
        }
    }

    /// The first of the free names that can be taken; nil if there is none.
    fileprivate mutating func firstFree(
        _ prefix: PropertyName,
        _ tables: [PropertyTable],
        at time: Timestamp,
        where isFree: (PropertyName) -> Bool
    ) -> ClaimQueues.Found? {
        var index = place(of: prefix)
        while index < free.count, unsafe free[index].bytes.begins(with: prefix.bytes) {
            let name = free[index]
            // If the name comes back or is freed, `note` adds it again.
            guard let property = Self.find(name, tables), !property.isExpired(at: time),
                !isClaimed(name, tables)
            else {
                free.remove(at: index)
                continue
            }
            if isFree(name) {
                return .name(name)
            }
            index += 1
        }
        return nil
    }

    /// Passes names of the prefix, also expired ones, until one can be taken.
    ///
    /// - Parameters:
    ///   - prefix: The prefix.
    ///   - end: The name to stop at.
    ///   - tables: All tables.
    ///   - time: Now.
    ///   - left: How many names can still be passed.
    ///   - isFree: Whether the caller can take a name.
    /// - Returns: The result; nil at `end`.
    fileprivate mutating func pass(
        _ prefix: PropertyName,
        until end: PropertyName?,
        _ tables: [PropertyTable],
        at time: Timestamp,
        _ left: inout Int,
        where isFree: (PropertyName) -> Bool
    ) -> ClaimQueues.Found? {
        var names = MergedWalk(
            tables,
            prefix: unsafe OwnedBytes(copying: prefix.bytes),
            after: passed.map { unsafe OwnedBytes(copying: $0.bytes) },
            at: Timestamp(milliseconds: .min)
        )
        var claims: ClaimWalk?
        var last: Property?
        defer {
            if let last {
                passed = PropertyName(of: last).copy()
            }
        }
        while let property = names.next() {
            if let end, unsafe !property.nameBytes.precedes(end.bytes) {
                return nil
            }
            guard left > 0 else {
                return .unknown
            }
            left -= 1
            last = property
            passedCount += 1
            let isClaimed =
                claims?.isClaimed(property) ?? isClaimed(PropertyName(of: property), tables)
            if isClaimed, claims == nil {
                claims = ClaimWalk(pair, behind: property, tables)
            }
            guard !isClaimed, !property.isExpired(at: time) else {
                continue
            }
            let name = PropertyName(of: property).copy()
            free.append(name)
            if isFree(name) {
                return .name(name)
            }
        }
        guard let end, unsafe end.bytes.begins(with: prefix.bytes) else {
            return .nothing
        }
        return nil
    }

    private func isClaimed(_ name: PropertyName, _ tables: [PropertyTable]) -> Bool {
        pair.claim(on: name).map { Self.find($0, tables) != nil } ?? false
    }

    private static func find(_ name: PropertyName, _ tables: [PropertyTable]) -> Property? {
        tables[name.stripe(of: tables.count)].find(name, in: .stored)
    }
}

/// The claims along a walk through the names, in the same order: cheaper than finding each one.
private struct ClaimWalk {
    private let pair: ClaimPair
    private var walk: MergedWalk
    private var head: Property?

    init(_ pair: ClaimPair, behind property: Property, _ tables: [PropertyTable]) {
        self.pair = pair
        walk = MergedWalk(
            tables,
            prefix: unsafe OwnedBytes(copying: pair.claim.bytes),
            after: pair.claimBytes(on: property),
            at: Timestamp(milliseconds: .min)
        )
        head = walk.next()
    }

    /// Whether there is a claim on the property; each follows the one before.
    mutating func isClaimed(_ property: Property) -> Bool {
        if isBefore(property) {
            head = walk.next()
        }
        if isBefore(property) {
            _ = walk.skip(to: pair.claimBytes(on: property))
            head = walk.next()
        }
        guard let head else { return false }
        return unsafe rest(of: head).equals(pair.rest(of: property))
    }

    private func isBefore(_ property: Property) -> Bool {
        head.map { unsafe rest(of: $0).precedes(pair.rest(of: property)) } ?? false
    }

    private func rest(of claim: Property) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: claim.nameBytes[pair.claim.bytes.count...])
    }
}
