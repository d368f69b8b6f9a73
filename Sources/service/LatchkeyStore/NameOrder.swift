/// Properties sorted by name: a list of sorted chunks of bounded length.
///
/// A search is two binary searches, an insertion moves at most one chunk's references. This is
/// the structure of Grant Jenks' *Sorted Containers*: as quick as a tree at the sizes that fit in
/// memory, with one reference a property and nothing to balance. A value type, as everything that
/// a strategy guards.
struct NameOrder: Sendable {
    /// A chunk that reaches this length is split into two halves.
    static let chunkCountMax = 512

    /// The number of a place in the list.
    ///
    /// One that is not right any more costs a search. So it may also be cut off.
    typealias Hint = UInt32

    /// No chunk is empty.
    private var chunks: [[Property]] = []

    /// Where a property is, or would be inserted.
    private struct Position {
        var chunk: Int
        var index: Int
    }

    /// The position of the first property whose name does not precede `name`.
    ///
    /// Past the last one it is the end of the last chunk.
    private func position(of name: UnsafeRawBufferPointer) -> Position {
        position { unsafe $0.nameBytes.precedes(name) }
    }

    /// The position of the first property that is not before a place.
    private func position(where isBefore: (Property) -> Bool) -> Position {
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

    /// Inserts a property whose name is not in the list.
    mutating func insert(_ property: Property) {
        guard !chunks.isEmpty else {
            chunks = [[property]]
            return
        }
        let place = unsafe position(of: property.nameBytes)
        chunks[place.chunk].insert(property, at: place.index)
        if chunks[place.chunk].count == Self.chunkCountMax {
            // Names that arrive in order leave full chunks behind instead of half empty ones.
            let isLast = place.chunk == chunks.count - 1 && place.index == Self.chunkCountMax - 1
            let kept = isLast ? Self.chunkCountMax - 1 : Self.chunkCountMax / 2
            let tail = Array(chunks[place.chunk][kept...])
            chunks[place.chunk] = Array(chunks[place.chunk][..<kept])
            chunks.insert(tail, at: place.chunk + 1)
        }
    }

    /// Puts a property in the place of `former`, which has the same name.
    ///
    /// - Parameters:
    ///   - former: The property in the list.
    ///   - property: The one that replaces it.
    ///   - hint: Where `former` was at its last replacement. It is still there unless names were
    ///     added or removed; only then is the list searched.
    /// - Returns: Where the property is.
    mutating func replace(_ former: Property, by property: Property, _ hint: Hint) -> Hint {
        let chunk = Int(hint) / Self.chunkCountMax
        let index = Int(hint) % Self.chunkCountMax
        if chunk < chunks.count, index < chunks[chunk].count,
            chunks[chunk][index].isSame(as: former)
        {
            chunks[chunk][index] = property
            return hint
        }
        let place = unsafe position(of: property.nameBytes)
        chunks[place.chunk][place.index] = property
        return Hint(truncatingIfNeeded: place.chunk * Self.chunkCountMax + place.index)
    }

    /// Removes the property that has the name.
    mutating func remove(_ name: PropertyName) {
        let place = unsafe position(of: name.bytes)
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

    /// The property that has the name.
    func find(_ name: PropertyName) -> Property? {
        let place = unsafe position(of: name.bytes)
        guard place.chunk < chunks.count, place.index < chunks[place.chunk].count else {
            return nil
        }
        let property = chunks[place.chunk][place.index]
        return unsafe property.nameBytes.equals(name.bytes) ? property : nil
    }

    /// How many names begin with a prefix, without a visit of each.
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
        guard start.chunk < chunks.count, start.index < chunks[start.chunk].count,
            unsafe chunks[start.chunk][start.index].nameBytes.begins(with: prefix)
        else {
            return 0
        }
        let end = position { property in
            let name = unsafe property.nameBytes
            return unsafe name.precedes(prefix) || name.begins(with: prefix)
        }
        var count = end.index - start.index
        var chunk = start.chunk
        while chunk < end.chunk, count <= max {
            count += chunks[chunk].count
            chunk += 1
        }
        return count
    }

    /// Calls `body` with each property.
    func visit(_ body: (Property) -> Void) {
        for chunk in chunks {
            for property in chunk {
                body(property)
            }
        }
    }

    /// A walk through the names from a place on.
    ///
    /// A property of exactly the name where the walk begins belongs to it only if it is included.
    func walk(from bound: UnsafeRawBufferPointer, including isIncluded: Bool) -> Walk {
        var place = unsafe position(of: bound)
        if !isIncluded, place.chunk < chunks.count, place.index < chunks[place.chunk].count,
            unsafe chunks[place.chunk][place.index].nameBytes.equals(bound)
        {
            place.index += 1
        }
        return Walk(chunks: chunks, chunk: place.chunk, index: place.index)
    }

    /// Yields properties in the order of their names.
    struct Walk: IteratorProtocol {
        fileprivate let chunks: [[Property]]
        fileprivate var chunk: Int
        fileprivate var index: Int

        /// Goes on at the first name that does not precede `bound`.
        mutating func skip(to bound: UnsafeRawBufferPointer) {
            self = unsafe NameOrder(chunks: chunks).walk(from: bound, including: true)
        }

        mutating func next() -> Property? {
            while chunk < chunks.count {
                if index < chunks[chunk].count {
                    index += 1
                    return chunks[chunk][index - 1]
                }
                chunk += 1
                index = 0
            }
            return nil
        }
    }
}
