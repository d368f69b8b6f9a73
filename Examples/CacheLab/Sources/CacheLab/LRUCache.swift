/// A bounded cache that forgets the entry that was used least recently.
///
/// A value: a dictionary finds an entry's place in an array, and the entries are a ring in the
/// order of their use, with links that are places in the array.
struct LRUCache<Element: Sendable>: Sendable {
    private struct Entry: Sendable {
        var key: Int
        var element: Element
        var newer: Int
        var older: Int
    }

    let capacity: Int
    private var places: [Int: Int] = [:]
    private var entries: [Entry] = []
    /// The place of the entry that was used last; its `newer` is the one that was used first.
    private var newest = 0

    init(capacity: Int) {
        precondition(capacity > 0, "A cache has room for an entry.")
        self.capacity = capacity
        places.reserveCapacity(capacity)
        entries.reserveCapacity(capacity)
    }

    var count: Int { entries.count }

    /// The element, without using it.
    func peek(_ key: Int) -> Element? {
        places[key].map { entries[$0].element }
    }

    /// The element, which is now the last that was used.
    ///
    /// It changes the order, so that it needs exclusive access.
    mutating func use(_ key: Int) -> Element? {
        guard let place = places[key] else { return nil }
        if place != newest {
            unlink(place)
            link(place)
        }
        return entries[place].element
    }

    /// Adds an element, in the place of the one that was used least recently if there is no room.
    mutating func insert(_ element: Element, for key: Int) {
        if let place = places[key] {
            entries[place].element = element
            _ = use(key)
        } else if entries.count < capacity {
            let place = entries.count
            entries.append(Entry(key: key, element: element, newer: place, older: place))
            places[key] = place
            if place > 0 { link(place) }
        } else {
            let oldest = entries[newest].newer
            places[entries[oldest].key] = nil
            places[key] = oldest
            entries[oldest].key = key
            entries[oldest].element = element
            // The ring has this place between its two ends already.
            newest = oldest
        }
    }

    /// Whether the ring has every entry once, and the dictionary knows each of them.
    var isConsistent: Bool {
        guard places.count == entries.count, entries.count <= capacity else { return false }
        var place = newest
        for _ in entries.indices {
            let entry = entries[place]
            guard places[entry.key] == place, entries[entry.older].newer == place else {
                return false
            }
            place = entry.older
        }
        return place == newest
    }

    private mutating func unlink(_ place: Int) {
        let (newer, older) = (entries[place].newer, entries[place].older)
        entries[newer].older = older
        entries[older].newer = newer
    }

    /// Puts an entry that is not in the ring before the newest.
    private mutating func link(_ place: Int) {
        let oldest = entries[newest].newer
        entries[place].older = newest
        entries[place].newer = oldest
        entries[newest].newer = place
        entries[oldest].older = place
        newest = place
    }
}
