/// The members of one object by name.
///
/// Names are compared as text, however they are escaped. A few members are searched one after the
/// other, more by a hash table. Hashes have the process's random seed, so that clients cannot
/// choose names that collide.
struct MemberIndex {
    struct Entry {
        fileprivate let name: JSONView
        fileprivate let hash: UInt64
        /// The node of the member's name; of several with the name, the last.
        fileprivate(set) var node: Int32
        /// The node of the other object's member, if there is one.
        var partner = JSONOutline.none
    }

    private static let searchedCountMax = 8

    private(set) var entries: ContiguousArray<Entry> = []

    /// Places in `entries`, with open addressing: a power of two, or none for a few members.
    private var slots: ContiguousArray<Int32> = []

    private var mask: Int { slots.count - 1 }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        slots = []
    }

    /// Puts a member under its name, and returns the node that had the name before.
    mutating func set(_ name: JSONView, node: Int32) -> Int32? {
        if let place = find(name) {
            defer { entries[place].node = node }
            return entries[place].node
        }
        if entries.count == Self.searchedCountMax {
            // Those before were not hashed.
            for place in entries.indices {
                let entry = entries[place]
                entries[place] = Entry(
                    name: entry.name,
                    hash: Self.hash(entry.name),
                    node: entry.node,
                    partner: entry.partner
                )
            }
        }
        let isHashed = entries.count >= Self.searchedCountMax
        entries.append(Entry(name: name, hash: isHashed ? Self.hash(name) : 0, node: node))
        if isHashed {
            insertLast()
        }
        return nil
    }

    /// The place of a name's entry.
    func find(_ name: JSONView) -> Int? {
        guard !slots.isEmpty else {
            return entries.firstIndex { $0.name.equalsString(name) }
        }
        let hash = Self.hash(name)
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] >= 0 {
            let place = Int(slots[slot])
            if entries[place].hash == hash, entries[place].name.equalsString(name) {
                return place
            }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// Notes the member of the other object that an entry stands for, and returns the one before.
    mutating func setPartner(_ node: Int32, at place: Int) -> Int32 {
        defer { entries[place].partner = node }
        return entries[place].partner
    }

    /// Makes the table at least twice as long as the entries, and adds the last one to it.
    private mutating func insertLast() {
        if entries.count * 2 > slots.count {
            slots = ContiguousArray(
                repeating: JSONOutline.none,
                count: max(32, slots.count * 4)
            )
            for place in entries.indices {
                insert(place)
            }
        } else {
            insert(entries.count - 1)
        }
    }

    private mutating func insert(_ place: Int) {
        var slot = Int(truncatingIfNeeded: entries[place].hash) & mask
        while slots[slot] >= 0 {
            slot = (slot + 1) & mask
        }
        slots[slot] = Int32(place)
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
