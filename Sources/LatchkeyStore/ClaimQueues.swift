internal import LatchkeySync
internal import Synchronization

/// How far the properties of prefixes are claimed, so that a pop need not begin at the first one.
///
/// **Design.** A pop takes the first property that has no claim. It depends on the state alone
/// which one that is; what is remembered here is only where to look, and no replica needs what
/// another one remembers. So a pop costs the same units wherever it looks.
///
/// For each pair of prefixes that pops use, all properties up to `passed` have claims, except for
/// those in `free`. Whoever changes a table notes which names come and go, under the stripes that
/// it holds. A pop holds all stripes. What is not known yet is passed before the pop, some names at
/// a time, and the stripes are given back in between: see ``pass(_:_:at:)``.
///
/// A lock guards the queues, and is the innermost one. It is not entered while no pop claims.
final class ClaimQueues: Sendable {
    /// More than the steps of a transaction.
    ///
    /// The queue that was not used for the longest time goes.
    private static let countMax = 256

    private struct State: Sendable {
        /// The latest used last.
        var queues: [ClaimQueue] = []

        /// The place of a queue, which is made if there is none.
        mutating func place(of pair: ClaimPair, _ passedCountMax: Int) -> Int {
            let index = queues.lastIndex { $0.pair == pair }
            guard let index else {
                if queues.count == ClaimQueues.countMax {
                    queues.removeFirst()
                }
                queues.append(ClaimQueue(pair.copy(), passedCountMax))
                return queues.count - 1
            }
            if index < queues.count - 1 {
                queues.append(queues.remove(at: index))
            }
            return queues.count - 1
        }
    }

    /// How many names are passed while the stripes are held, and how many are free at most.
    private let passedCountMax: Int
    private let state = Guarded<State>(State())
    /// Relaxed: who makes the first queue holds all stripes, and who notes a name holds one.
    private let isUsed = Atomic<Bool>(false)

    init(_ limits: StoreLimits) {
        passedCountMax = limits.passedCountMax
    }

    /// How many names were passed so far, for those that are known.
    var passedCount: Int { state.read { $0.queues.reduce(0) { $0 + $1.passedCount } } }

    /// Whether there is a queue.
    var areUsed: Bool { isUsed.load(ordering: .relaxed) }

    /// Notes that a property has taken the place of another one, under its stripe.
    func note(_ name: PropertyName, _ former: Property?, _ property: Property?) {
        // Over one whose time is over, a property comes anew.
        let comes = property != nil && (former == nil || former?.isMortal == true)
        guard comes || property == nil, former != nil || property != nil else { return }
        state.write { state in
            for index in state.queues.indices {
                state.queues[index].note(name, isNew: former == nil, comes: comes)
            }
        }
    }

    /// Forgets all, because the properties are others.
    func forget() {
        state.write { $0 = State() }
    }

    /// Whether pops of these pairs find their properties where they look first.
    func areKnown(_ pairs: [ClaimPair]) -> Bool {
        state.read { state in
            pairs.allSatisfy { pair in
                state.queues.last { $0.pair == pair }?.isKnown ?? false
            }
        }
    }

    /// Passes some names that are claimed, for the pops of a transaction, while all stripes are
    /// held.
    ///
    /// - Returns: Whether the pops can be made.
    func pass(_ pops: ClaimPops, _ tables: [PropertyTable], at time: Timestamp) -> Bool {
        state.write { state in
            isUsed.store(true, ordering: .relaxed)
            var left = passedCountMax
            return pops.pairs.allSatisfy { pair in
                let place = state.place(of: pair, passedCountMax)
                return state.queues[place].pass(pops.count, tables, at: time, &left)
            }
        }
    }

    /// The first property of the prefix that has no claim and that the caller can take, while all
    /// stripes are held.
    func firstFree(
        _ pair: ClaimPair,
        _ tables: [PropertyTable],
        at time: Timestamp,
        where isFree: (PropertyName) -> Bool
    ) -> PropertyName? {
        state.write { state in
            isUsed.store(true, ordering: .relaxed)
            let place = state.place(of: pair, passedCountMax)
            return state.queues[place].firstFree(tables, at: time, where: isFree)
        }
    }
}

/// How far the properties of one prefix are claimed.
struct ClaimQueue: Sendable {
    let pair: ClaimPair
    private let passedCountMax: Int
    private(set) var passedCount = 0
    /// All names up to here are claimed, or are free; nil if none was looked at.
    private var passed: PropertyName?
    /// In their order.
    ///
    /// Some of them can be claimed or gone.
    private var free: [PropertyName] = []
    /// How many claims there are behind `passed`; nil if that is to be counted.
    private var claimedCount: Int?

    fileprivate init(_ pair: ClaimPair, _ passedCountMax: Int) {
        self.pair = pair
        self.passedCountMax = passedCountMax
    }

    /// Whether few claims can stand between `passed` and the next name without one.
    fileprivate var isKnown: Bool { claimedCount.map { $0 <= passedCountMax } ?? false }

    fileprivate mutating func note(_ name: PropertyName, isNew: Bool, comes: Bool) {
        if comes, unsafe name.bytes.begins(with: pair.prefix.bytes), isPassed(name) {
            add(name)
        }
        guard let claimed = pair.claimed(by: name) else { return }
        if isPassed(claimed) {
            if !comes {
                add(claimed)
            }
        } else if !comes {
            claimedCount? -= 1
        } else if isNew {
            claimedCount? += 1
        }
    }

    private func isPassed(_ name: PropertyName) -> Bool {
        passed.map { unsafe !$0.bytes.precedes(name.bytes) } ?? false
    }

    private mutating func add(_ name: PropertyName) {
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
        guard low == free.count || free[low] != name else { return }
        free.insert(name.copy(), at: low)
        if free.count > passedCountMax {
            // Those behind the last one that is kept are looked at once more.
            free.removeLast()
            passed = free.last
            claimedCount = nil
        }
    }

    /// Passes names until there are so many that are free, or none is left, or `left` are passed.
    fileprivate mutating func pass(
        _ wanted: Int,
        _ tables: [PropertyTable],
        at time: Timestamp,
        _ left: inout Int
    ) -> Bool {
        free = free.filter { isUnclaimed($0, tables) }
        var walk = walk(tables)
        while free.count < wanted, let property = walk.next() {
            pass(property, tables, at: time)
            left -= 1
            guard left > 0 else {
                return false
            }
        }
        let last = passed.flatMap { pair.claim(on: $0) }
        claimedCount = tables.reduce(0) {
            unsafe $0 + $1.order.count(prefix: pair.claim.bytes, after: last?.bytes)
        }
        return true
    }

    /// Passes the next name, which is free if nothing claims it.
    ///
    /// One whose time is over is not: ``note(_:isNew:comes:)`` tells if it comes anew.
    private mutating func pass(
        _ property: Property,
        _ tables: [PropertyTable],
        at time: Timestamp
    ) {
        let name = PropertyName(of: property).copy()
        passed = name
        passedCount += 1
        if isClaimed(name, tables) {
            claimedCount? -= 1
        } else if !property.isExpired(at: time) {
            free.append(name)
        }
    }

    fileprivate mutating func firstFree(
        _ tables: [PropertyTable],
        at time: Timestamp,
        where isFree: (PropertyName) -> Bool
    ) -> PropertyName? {
        var index = 0
        while index < free.count {
            guard isUnclaimed(free[index], tables) else {
                free.remove(at: index)
                continue
            }
            if isFree(free[index]) {
                return free[index]
            }
            index += 1
        }
        var walk = walk(tables)
        while let property = walk.next() {
            pass(property, tables, at: time)
            if let name = free.last, name == passed, isFree(name) {
                return name
            }
        }
        return nil
    }

    /// The properties behind `passed`, also those whose time is over.
    private func walk(_ tables: [PropertyTable]) -> MergedWalk {
        MergedWalk(
            tables.lazy.map(\.order),
            prefix: unsafe OwnedBytes(copying: pair.prefix.bytes),
            after: passed.map { unsafe OwnedBytes(copying: $0.bytes) },
            at: Timestamp(milliseconds: .min)
        )
    }

    /// Whether the name is there, and nothing claims it.
    private func isUnclaimed(_ name: PropertyName, _ tables: [PropertyTable]) -> Bool {
        Self.has(name, tables) && !isClaimed(name, tables)
    }

    private func isClaimed(_ name: PropertyName, _ tables: [PropertyTable]) -> Bool {
        pair.claim(on: name).map { Self.has($0, tables) } ?? false
    }

    private static func has(_ name: PropertyName, _ tables: [PropertyTable]) -> Bool {
        tables[name.stripe(of: tables.count)].find(name, in: .stored) != nil
    }
}
