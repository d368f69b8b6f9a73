internal import Synchronization

/// The room that the properties of the whole store take, and its limits.
///
/// **Design.** The tables are guarded one by one, so the numbers that belong to all of them are
/// atomics. Room is taken before a change takes its revision, and given back after it. So the
/// limits are never exceeded, not even for a moment, and no revision has more than they allow. A
/// change may be refused if it races for the last place with a deletion, or with a change that has
/// a place but too few bytes. Giving back releases and taking acquires: a change that takes room
/// which another one has given back gets a later revision.
struct StoreRoom: ~Copyable, Sendable {
    private let propertyCount = Atomic<Int>(0)
    private let byteCount = Atomic<Int>(0)
    private let limits: StoreLimits

    init(limits: StoreLimits) {
        self.limits = limits
    }

    var used: StoreSize {
        StoreSize(
            propertyCount: propertyCount.load(ordering: .relaxed),
            byteCount: byteCount.load(ordering: .relaxed)
        )
    }

    /// Takes the room that `new` needs beyond that of `former`, or says which limit that would
    /// break.
    ///
    /// Never refused if `new` is not larger. A refusal leaves everything as it was.
    func take(for new: StoreSize, beyond former: StoreSize) throws(StoreFull) {
        let properties = new.propertyCount - former.propertyCount
        let bytes = new.byteCount - former.byteCount
        if properties > 0 {
            guard new.propertyCount <= limits.propertyCountMax else {
                throw .properties(shortage: nil)
            }
        }
        if bytes > 0 {
            guard new.byteCount <= limits.byteCountMax else {
                throw .bytes(shortage: nil)
            }
        }
        if properties > 0 {
            let shortage = Self.take(properties, of: propertyCount, limits.propertyCountMax)
            guard shortage == 0 else {
                throw .properties(shortage: shortage)
            }
        }
        if bytes > 0 {
            let shortage = Self.take(bytes, of: byteCount, limits.byteCountMax)
            guard shortage == 0 else {
                if properties > 0 {
                    propertyCount.subtract(properties, ordering: .relaxed)
                }
                throw .bytes(shortage: shortage)
            }
        }
    }

    /// Gives back the room of `former` that `new` does not need.
    ///
    /// Called after the change has its revision.
    func giveBack(_ former: StoreSize, beyond new: StoreSize) {
        giveBack(
            StoreSize(
                propertyCount: max(0, former.propertyCount - new.propertyCount),
                byteCount: max(0, former.byteCount - new.byteCount)
            )
        )
    }

    /// Adds to a number unless the sum would exceed `bound`.
    ///
    /// - Returns: The excess, or 0.
    static func take(_ part: Int, of number: borrowing Atomic<Int>, _ bound: Int) -> Int {
        var used = number.load(ordering: .relaxed)
        while used + part <= bound {
            let (isTaken, now) = number.weakCompareExchange(
                expected: used,
                desired: used + part,
                successOrdering: .acquiring,
                failureOrdering: .relaxed
            )
            if isTaken {
                return 0
            }
            used = now
        }
        return used + part - bound
    }

    /// Takes room that the limits allowed when the change was decided.
    func occupy(_ size: StoreSize) {
        propertyCount.add(size.propertyCount, ordering: .relaxed)
        byteCount.add(size.byteCount, ordering: .relaxed)
    }

    /// Takes the room of `former` and gives back that of `new`, while all tables are held.
    func restore(_ former: StoreSize, beyond new: StoreSize) {
        giveBack(new)
        occupy(former)
    }

    private func giveBack(_ size: StoreSize) {
        if size.propertyCount > 0 {
            propertyCount.subtract(size.propertyCount, ordering: .releasing)
        }
        if size.byteCount > 0 {
            byteCount.subtract(size.byteCount, ordering: .releasing)
        }
    }
}

/// Room in a store: a number of properties, and of bytes in their names and values.
struct StoreSize {
    var propertyCount = 0
    var byteCount = 0

    init(propertyCount: Int = 0, byteCount: Int = 0) {
        self.propertyCount = propertyCount
        self.byteCount = byteCount
    }

    /// The room of one property, or none.
    init(_ property: Property?) {
        if let property {
            self.init(propertyCount: 1, byteCount: property.byteCount)
        } else {
            self.init()
        }
    }

    static func += (total: inout StoreSize, part: StoreSize) {
        total.propertyCount += part.propertyCount
        total.byteCount += part.byteCount
    }
}

/// The limit that a change would break, and the room that it lacks.
///
/// The shortage is nil if the change needs more than the limit, so that no removal helps.
package enum StoreFull: Error, Hashable {
    case properties(shortage: Int?)
    case bytes(shortage: Int?)
    /// Nothing is removed to make room in a quota.
    case quota(Quota)
}

/// How full a store is, and its latest revision.
///
/// The numbers are read one after the other, while changes may go on.
package struct StoreUsage: Sendable, Equatable {
    package let revision: Revision
    package let propertyCount: Int
    package let byteCount: Int
    /// The work of all decisions of this process: see ``ChangeWork``.
    ///
    /// It is not a part of the state, so equality ignores it.
    package var workUnits: UInt64 = 0

    package static func == (one: Self, other: Self) -> Bool {
        one.revision == other.revision && one.propertyCount == other.propertyCount
            && one.byteCount == other.byteCount
    }
}
