/// Properties in an order: a list of sorted chunks of limited length.
///
/// A search is two binary searches, an insertion moves at most one chunk's references. This is
/// the structure of Grant Jenks' *Sorted Containers*: as quick as a tree at the sizes that fit in
/// memory, with one reference a property and nothing to balance. A value type, as everything that
/// a strategy guards.
struct PropertyOrder<Sorting: PropertySorting>: Sendable {
    /// A chunk that reaches this length is split into two halves.
    static var chunkCountMax: Int { 512 }

    /// The number of a place in the list.
    ///
    /// A wrong number only costs a search. So it may also be truncated.
    typealias Hint = UInt32

    /// No chunk is empty.
    private var chunks: [[Property]] = []

    /// The place where a property is, or would be inserted.
    struct Position {
        fileprivate var chunk = 0
        fileprivate var index = 0
    }

    /// The position of the first property, if there is one.
    var start: Position { Position() }

    /// The position of the first property that is not before a place.
    ///
    /// After the last property, it is the end of the last chunk.
    func position(where isBefore: (Property) -> Bool) -> Position {
        let chunk = Self.partition(chunks.count) { index in
            isBefore(chunks[index][chunks[index].count - 1])
        }
        guard chunk < chunks.count else {
            return Position(chunk: max(0, chunk - 1), index: chunks.last?.count ?? 0)
        }
        let index = Self.partition(chunks[chunk].count) { index in
            isBefore(chunks[chunk][index])
        }
        return Position(chunk: chunk, index: index)
    }

    /// The first of `count` indices for which the predicate is false.
    private static func partition(_ count: Int, where isBefore: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// The property at a position; nil past the last one.
    subscript(position: Position) -> Property? {
        guard position.chunk < chunks.count, position.index < chunks[position.chunk].count else {
            return nil
        }
        return chunks[position.chunk][position.index]
    }

    /// The position after one at which there is a property.
    func position(after position: Position) -> Position {
        let isLast = position.index + 1 == chunks[position.chunk].count
        return isLast && position.chunk + 1 < chunks.count
            ? Position(chunk: position.chunk + 1)
            : Position(chunk: position.chunk, index: position.index + 1)
    }

    /// Counts the properties between two positions, without a visit of each.
    ///
    /// - Parameters:
    ///   - start: The first position.
    ///   - end: A position that is not before it.
    ///   - max: More are not counted to their end.
    /// - Returns: How many, or more than `max`.
    func count(from start: Position, to end: Position, max: Int = .max) -> Int {
        var count = end.index - start.index
        var chunk = start.chunk
        while chunk < end.chunk, count <= max {
            count += chunks[chunk].count
            chunk += 1
        }
        return count
    }

    /// Inserts a property that is equal to none in the list.
    mutating func insert(_ property: Property) {
        guard !chunks.isEmpty else {
            chunks = [[property]]
            return
        }
        let place = position { Sorting.precedes($0, property) }
        chunks[place.chunk].insert(property, at: place.index)
        if chunks[place.chunk].count == Self.chunkCountMax {
            // Insertions in order leave full chunks instead of half-empty ones.
            let isLast = place.chunk == chunks.count - 1 && place.index == Self.chunkCountMax - 1
            let kept = isLast ? Self.chunkCountMax - 1 : Self.chunkCountMax / 2
            let tail = Array(chunks[place.chunk][kept...])
            chunks[place.chunk] = Array(chunks[place.chunk][..<kept])
            chunks.insert(tail, at: place.chunk + 1)
        }
    }

    /// Puts a property in the place of `former`, which has the same place in the order.
    ///
    /// - Parameters:
    ///   - former: The property in the list.
    ///   - property: The one that replaces it.
    ///   - hint: The place of `former` at its last replacement. It is still there unless properties
    ///     were added or removed; only then is the list searched.
    /// - Returns: The place of the property.
    mutating func replace(_ former: Property, by property: Property, _ hint: Hint) -> Hint {
        let chunk = Int(hint) / Self.chunkCountMax
        let index = Int(hint) % Self.chunkCountMax
        if chunk < chunks.count, index < chunks[chunk].count,
            chunks[chunk][index].isSame(as: former)
        {
            chunks[chunk][index] = property
            return hint
        }
        let place = position { Sorting.precedes($0, property) }
        chunks[place.chunk][place.index] = property
        return Hint(truncatingIfNeeded: place.chunk * Self.chunkCountMax + place.index)
    }

    /// Removes a property that is in the list.
    mutating func remove(_ property: Property) {
        let place = position { Sorting.precedes($0, property) }
        chunks[place.chunk].remove(at: place.index)
        // A chunk that has become small goes into its neighbour, so that deletions leave no trail
        // of nearly empty ones. A quarter and a half leave room before the next split.
        let next = place.chunk + 1
        if chunks[place.chunk].isEmpty {
            chunks.remove(at: place.chunk)
        } else if next < chunks.count, chunks[place.chunk].count < Self.chunkCountMax / 4,
            chunks[place.chunk].count + chunks[next].count < Self.chunkCountMax / 2
        {
            chunks[place.chunk] += chunks.remove(at: next)
        }
    }

    /// Calls `body` with each property.
    func visit(_ body: (Property) -> Void) {
        for chunk in chunks {
            for property in chunk {
                body(property)
            }
        }
    }
}

/// An order in which properties are sorted.
///
/// No two properties of a table are equal.
protocol PropertySorting {
    static func precedes(_ one: Property, _ other: Property) -> Bool
}

// MARK: names

/// The properties of a table sorted by name.
typealias NameOrder = PropertyOrder<NameSorting>

enum NameSorting: PropertySorting {
    static func precedes(_ one: Property, _ other: Property) -> Bool {
        unsafe one.nameBytes.precedes(other.nameBytes)
    }
}

extension NameOrder {
    /// The position of the first property whose name does not precede `name`.
    func position(of name: UnsafeRawBufferPointer) -> Position {
        position { unsafe $0.nameBytes.precedes(name) }
    }

    /// The position of the first property whose name begins with the prefix and follows `after`.
    func position(prefix: OwnedBytes, after: OwnedBytes?) -> Position {
        // Names with a common prefix stand together.
        guard let after, unsafe !after.bytes.precedes(prefix.bytes) else {
            return unsafe position(of: prefix.bytes)
        }
        let place = unsafe position(of: after.bytes)
        guard let found = self[place], unsafe found.nameBytes.equals(after.bytes) else {
            return place
        }
        return position(after: place)
    }

    /// Counts the names that begin with a prefix, without a visit of each.
    ///
    /// - Parameters:
    ///   - prefix: The prefix.
    ///   - max: More are not counted to their end.
    /// - Returns: How many, or more than `max`.
    func count(
        prefix: UnsafeRawBufferPointer,
        max: Int = .max
    ) -> Int {
        let start = unsafe position(of: prefix)
        guard let first = self[start], unsafe first.nameBytes.begins(with: prefix) else {
            return 0
        }
        let end = position { property in
            let name = unsafe property.nameBytes
            return unsafe name.precedes(prefix) || name.begins(with: prefix)
        }
        return count(from: start, to: end, max: max)
    }
}

// MARK: times

/// The properties of a table that expire, sorted by their time and then by name.
typealias ExpiryOrder = PropertyOrder<ExpirySorting>

enum ExpirySorting: PropertySorting {
    static func precedes(_ one: Property, _ other: Property) -> Bool {
        let (time, otherTime) = (one.expiry.milliseconds, other.expiry.milliseconds)
        return time == otherTime ? NameSorting.precedes(one, other) : time < otherTime
    }
}

extension ExpiryOrder {
    /// The position of the first property that has not expired.
    func position(at time: Timestamp) -> Position {
        position { $0.isExpired(at: time) }
    }
}
