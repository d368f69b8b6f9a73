/// The most frequent elements of a stream, in limited memory.
///
/// This is the algorithm Space-Saving (A. Metwally, D. Agrawal, A. El Abbadi: *Efficient
/// Computation of Frequent and Top-k Elements in Data Streams*, ICDT 2005). There are at most
/// `capacity` entries. An element without an entry takes over that with the smallest count, and
/// that count is its error. So, of N elements with k entries:
///
/// - A count is never too low, and too high by at most its error, which is at most N / k.
/// - Each element that came more often than N / k has an entry.
/// - With at most k different elements, all counts are exact.
///
/// An element costs a look into a table; one that takes over an entry, a walk over all of them.
package struct SpaceSaving<Element: Hashable & Sendable>: Sendable {
    package struct Entry: Sendable {
        package let element: Element
        /// How often the element came, at most.
        package fileprivate(set) var count: UInt64
        /// The largest part of `count` that can belong to other elements.
        package fileprivate(set) var error: UInt64
    }

    private let capacity: Int
    private var entries: [Entry] = []
    private var places: [Element: Int] = [:]

    package init(capacity: Int) {
        precondition(capacity > 0, "The most frequent element has an entry.")
        self.capacity = capacity
    }

    /// Counts an element.
    package mutating func add(_ element: Element) {
        if let place = places[element] {
            entries[place].count += 1
        } else if entries.count < capacity {
            places[element] = entries.count
            entries.append(Entry(element: element, count: 1, error: 0))
        } else if let place = entries.indices.min(by: { entries[$0].count < entries[$1].count }) {
            let former = entries[place]
            places[former.element] = nil
            places[element] = place
            entries[place] = Entry(element: element, count: former.count + 1, error: former.count)
        }
    }

    /// How often an element without an entry came, at most.
    private var absentCountMax: UInt64 {
        entries.count < capacity ? 0 : entries.map(\.count).min() ?? 0
    }

    /// The entries of two streams as one, the most frequent first.
    ///
    /// An element that has an entry in one of them only can have come in the other as often as the
    /// smallest count there. So the bounds are the sums of those of both.
    package func entries(with other: SpaceSaving?) -> [Entry] {
        var sums = entries
        if let other {
            let (absent, otherAbsent) = (absentCountMax, other.absentCountMax)
            for place in sums.indices {
                let found = other.places[sums[place].element].map { other.entries[$0] }
                sums[place].count += found?.count ?? otherAbsent
                sums[place].error += found?.error ?? otherAbsent
            }
            sums += other.entries.filter { places[$0.element] == nil }.map { entry in
                Entry(
                    element: entry.element,
                    count: entry.count + absent,
                    error: entry.error + absent
                )
            }
        }
        return sums.sorted { $0.count > $1.count }
    }
}
