internal import Synchronization

/// How much room the properties of the whole store take, and how much there is.
///
/// **Design.** The tables are guarded one by one, so the numbers that belong to all of them are
/// atomics. Room is taken before a change takes effect, so the bounds are never exceeded, not even
/// for a moment; a change that races with a deletion for the last place may be refused. All
/// operations are relaxed: the numbers order nothing.
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

    /// Takes the room of `new` in exchange for that of `former`, or says which bound that would
    /// break.
    ///
    /// Never refused where `new` is not larger. A refusal leaves everything as it was.
    func exchange(_ former: StoreSize, for new: StoreSize) throws(StoreFull) {
        let properties = new.propertyCount - former.propertyCount
        let bytes = new.byteCount - former.byteCount
        if properties > 0 {
            let count = propertyCount.add(properties, ordering: .relaxed).newValue
            if count > limits.propertyCountMax {
                propertyCount.subtract(properties, ordering: .relaxed)
                throw .properties
            }
        }
        if bytes > 0 {
            let count = byteCount.add(bytes, ordering: .relaxed).newValue
            if count > limits.byteCountMax {
                byteCount.subtract(bytes, ordering: .relaxed)
                if properties > 0 {
                    propertyCount.subtract(properties, ordering: .relaxed)
                }
                throw .bytes
            }
        }
        giveBack(StoreSize(propertyCount: max(0, -properties), byteCount: max(0, -bytes)))
    }

    /// Takes room that the bounds allowed when the change was decided.
    func occupy(_ size: StoreSize) {
        propertyCount.add(size.propertyCount, ordering: .relaxed)
        byteCount.add(size.byteCount, ordering: .relaxed)
    }

    func giveBack(_ size: StoreSize) {
        if size.propertyCount > 0 {
            propertyCount.subtract(size.propertyCount, ordering: .relaxed)
        }
        if size.byteCount > 0 {
            byteCount.subtract(size.byteCount, ordering: .relaxed)
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

/// Which bound a change would break.
@usableFromInline
package enum StoreFull: Error, Hashable {
    case properties
    case bytes
}

/// How full a store is, and its latest revision.
///
/// The numbers are read one after the other, while changes may go on.
package struct StoreUsage: Sendable, Hashable {
    package let revision: Revision
    package let propertyCount: Int
    package let byteCount: Int
}
