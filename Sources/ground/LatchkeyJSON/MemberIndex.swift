/// The members of one object by name.
///
/// Names are compared as text, however they are escaped. A few members are searched one after the
/// other, more by a hash table. Hashes have the process's random seed, so that clients cannot
/// choose names that collide.
struct MemberIndex {
    struct Entry {
        fileprivate let name: JSONView
        fileprivate let isPlain: Bool
        /// The node of the member's name; of several with the name, the last.
        fileprivate(set) var node: Int32
        /// The node of the other object's member, if there is one.
        var partner = JSONOutline.none
    }

    /// Where an entry is, with half of its hash, so that few other entries are looked at.
    private struct Slot {
        var hash: UInt32 = 0
        var place = JSONOutline.none
    }

    private static let searchedCountMax = 8

    private(set) var entries: ContiguousArray<Entry> = []

    /// Open addressing: a power of two, or none for a few members.
    private var slots: ContiguousArray<Slot> = []

    private var mask: Int { slots.count - 1 }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        slots = []
    }

    /// Puts a member under its name, and returns the node that had the name before.
    mutating func set(_ name: JSONView, node: Int32) -> Int32? {
        let isPlain = !name.hasEscapes
        let hash = slots.isEmpty ? 0 : Self.hash(name)
        if let place = find(name, isPlain, hash) {
            defer { entries[place].node = node }
            return entries[place].node
        }
        entries.append(Entry(name: name, isPlain: isPlain, node: node))
        if entries.count > Self.searchedCountMax, entries.count * 2 > slots.count {
            slots = ContiguousArray(repeating: Slot(), count: max(32, slots.count * 4))
            for place in entries.indices {
                insert(place, Self.hash(entries[place].name))
            }
        } else if !slots.isEmpty {
            insert(entries.count - 1, hash)
        }
        return nil
    }

    /// The place of a name's entry.
    func find(_ name: JSONView) -> Int? {
        find(name, !name.hasEscapes, slots.isEmpty ? 0 : Self.hash(name))
    }

    /// Notes the other object's member for an entry, and returns the one before.
    mutating func setPartner(_ node: Int32, at place: Int) -> Int32 {
        defer { entries[place].partner = node }
        return entries[place].partner
    }

    private func find(_ name: JSONView, _ isPlain: Bool, _ hash: UInt64) -> Int? {
        guard !slots.isEmpty else {
            for place in entries.indices where hasName(place, name, isPlain) {
                return place
            }
            return nil
        }
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot].place != JSONOutline.none {
            let place = Int(slots[slot].place)
            if slots[slot].hash == Self.slotHash(hash), hasName(place, name, isPlain) {
                return place
            }
            slot = (slot + 1) & mask
        }
        return nil
    }

    private func hasName(_ place: Int, _ name: JSONView, _ isPlain: Bool) -> Bool {
        isPlain && entries[place].isPlain
            ? unsafe entries[place].name.bytes.equals(name.bytes)
            : entries[place].name.equalsString(name)
    }

    private mutating func insert(_ place: Int, _ hash: UInt64) {
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot].place != JSONOutline.none {
            slot = (slot + 1) & mask
        }
        slots[slot] = Slot(hash: Self.slotHash(hash), place: Int32(place))
    }

    /// The low bits choose the slot.
    private static func slotHash(_ hash: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: hash >> 32)
    }

    private static func hash(_ name: JSONView) -> UInt64 {
        var hasher = Hasher()
        if let plain = unsafe name.plainString {
            unsafe hasher.combine(bytes: plain)
        } else {
            let text = name.unescaped() ?? []
            unsafe text.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
