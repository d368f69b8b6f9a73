/// A walk through the properties of several tables in the order of their names: one walk for each
/// table, the smallest name first from a heap.
///
/// Properties whose time is over are left out.
package struct MergedWalk: IteratorProtocol, Sequence, Sendable {
    private var heap = BinaryHeap<Head>()
    private let prefix: OwnedBytes
    private let time: Timestamp

    /// - Parameters:
    ///   - orders: The names of each table.
    ///   - prefix: Only names that begin with these bytes.
    ///   - after: Only names after this one, which need not exist.
    ///   - time: Now.
    init(
        _ orders: some Sequence<NameOrder>,
        prefix: OwnedBytes,
        after: OwnedBytes?,
        at time: Timestamp
    ) {
        self.prefix = prefix
        self.time = time
        for order in orders {
            var walk = Self.walk(order, prefix, after)
            if let property = Self.next(of: &walk, prefix, time) {
                heap.insert(Head(property: property, walk: walk))
            }
        }
    }

    package mutating func next() -> Property? {
        guard let first = heap.first?.property else {
            return nil
        }
        advanceFirst { _ in }
        return first
    }

    /// Passes the names before a place.
    ///
    /// - Returns: How many of the walks had such names.
    mutating func skip(to bound: OwnedBytes) -> Int {
        var count = 0
        while let first = heap.first, unsafe first.property.nameBytes.precedes(bound.bytes) {
            count += 1
            advanceFirst { unsafe $0.skip(to: bound.bytes) }
        }
        return count
    }

    /// Goes on in the walk that has the first name, after it was moved.
    private mutating func advanceFirst(_ move: (inout NameOrder.Walk) -> Void) {
        var isAtEnd = false
        let (prefix, time) = (prefix, time)
        heap.updateFirst { head in
            move(&head.walk)
            if let next = Self.next(of: &head.walk, prefix, time) {
                head.property = next
            } else {
                isAtEnd = true
            }
        }
        if isAtEnd {
            heap.removeFirst()
        }
    }

    private static func next(
        of walk: inout NameOrder.Walk,
        _ prefix: OwnedBytes,
        _ time: Timestamp
    ) -> Property? {
        while let property = walk.next() {
            guard unsafe property.nameBytes.begins(with: prefix.bytes) else {
                return nil
            }
            if !property.isExpired(at: time) {
                return property
            }
        }
        return nil
    }

    /// Names with a common prefix stand together, so the walk begins at the later one of
    /// prefix and cursor.
    private static func walk(
        _ order: NameOrder,
        _ prefix: OwnedBytes,
        _ after: OwnedBytes?
    ) -> NameOrder.Walk {
        if let after, unsafe !after.bytes.precedes(prefix.bytes) {
            return unsafe order.walk(from: after.bytes, including: false)
        }
        return unsafe order.walk(from: prefix.bytes, including: true)
    }
}

/// The next property of one table, and the walk that yields those behind it.
private struct Head: Precedable, Sendable {
    var property: Property
    var walk: NameOrder.Walk

    func precedes(_ other: Head) -> Bool {
        unsafe property.nameBytes.precedes(other.property.nameBytes)
    }
}
