/// Properties by name: a hash table with open addressing and linear probing.
///
/// It exists because `Dictionary` has no way to look a key up by borrowed bytes: every read would
/// have to allocate the key first. A value type, as everything that a strategy guards.
///
/// Deletion shifts the run after the hole back (Knuth, *The Art of Computer Programming*, volume 3,
/// section 6.4, algorithm R), so there are no tombstones and runs stay short.
struct NameTable: Sendable {
    private struct Slot {
        /// Kept beside the reference, so that a probe touches a property only if it is likely to
        /// be the one.
        var hash: UInt32
        /// The probable place of the property in the order of names.
        var hint: NameOrder.Hint = 0
        var property: Property?
    }

    /// The place where a name is or belongs, until the table changes.
    struct Place {
        fileprivate let index: Int
    }

    /// Their number is a power of two, and they are never full.
    private var slots = ContiguousArray(repeating: Slot(hash: 0, property: nil), count: 8)

    private(set) var count = 0

    private var mask: Int { slots.count - 1 }

    /// The stripe was chosen by the low bits of the hash, so the table uses the high ones.
    private static func tableHash(_ name: PropertyName) -> UInt32 {
        UInt32(truncatingIfNeeded: name.hash >> 32)
    }

    /// The slot that holds the name, or the empty one where it belongs.
    private func slot(of name: PropertyName) -> Int {
        let hash = Self.tableHash(name)
        var index = Int(hash) & mask
        while let property = slots[index].property {
            if slots[index].hash == hash, unsafe property.nameBytes.equals(name.bytes) {
                break
            }
            index = (index + 1) & mask
        }
        return index
    }

    func find(_ name: PropertyName) -> Property? {
        slots[slot(of: name)].property
    }

    /// The place of the name, so that it is searched once for a look and a change.
    func place(of name: PropertyName) -> Place {
        Place(index: slot(of: name))
    }

    subscript(place: Place) -> Property? { slots[place.index].property }

    /// Puts the property in the place of the one that has the same name.
    ///
    /// - Parameters:
    ///   - property: The new one.
    ///   - place: The place of the former one.
    ///   - update: Given the hint of the place; returns the new one.
    mutating func replace(
        _ property: Property,
        at place: Place,
        _ update: (NameOrder.Hint) -> NameOrder.Hint
    ) {
        slots[place.index].hint = update(slots[place.index].hint)
        slots[place.index].property = property
    }

    /// Puts a property under its name, which is not in the table.
    mutating func insert(_ property: Property, for name: PropertyName, at place: Place) {
        var index = place.index
        // At most three quarters full: a longer run than a few slots stays improbable.
        if (count + 1) * 4 > slots.count * 3 {
            grow()
            index = slot(of: name)
        }
        count += 1
        slots[index] = Slot(hash: Self.tableHash(name), property: property)
    }

    /// Removes the property that is there.
    mutating func remove(at place: Place) {
        var hole = place.index
        guard slots[hole].property != nil else {
            return
        }
        count -= 1
        slots[hole].property = nil
        var next = (hole + 1) & mask
        while slots[next].property != nil {
            // A property may move back into the hole unless its home lies after the hole, counted
            // around the end of the table.
            let home = Int(slots[next].hash) & mask
            if (next - home) & mask >= (next - hole) & mask {
                slots.swapAt(hole, next)
                hole = next
            }
            next = (next + 1) & mask
        }
    }

    private mutating func grow() {
        let former = slots
        slots = ContiguousArray(
            repeating: Slot(hash: 0, property: nil),
            count: former.count * 2
        )
        for slot in former where slot.property != nil {
            var index = Int(slot.hash) & mask
            while slots[index].property != nil {
                index = (index + 1) & mask
            }
            slots[index] = slot
        }
    }
}
