/// A walk through the properties of several tables in the order of their names: one walk for each
/// table, the smallest name first from a binary heap.
///
/// Properties whose time is over are left out.
package struct MergedWalk: IteratorProtocol, Sequence, Sendable {
    private var heap: [Head] = []
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
            if let property = next(of: &walk) {
                heap.append(Head(property: property, walk: walk))
                heap.siftUp()
            }
        }
    }

    package mutating func next() -> Property? {
        guard let first = heap.first?.property else {
            return nil
        }
        if let next = next(of: &heap[0].walk) {
            heap[0].property = next
        } else {
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
        }
        heap.siftDown()
        return first
    }

    private func next(of walk: inout NameOrder.Walk) -> Property? {
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
private struct Head {
    var property: Property
    var walk: NameOrder.Walk

    func precedes(_ other: Head) -> Bool {
        unsafe property.nameBytes.precedes(other.property.nameBytes)
    }
}

extension [Head] {
    /// Restores the heap after an append.
    fileprivate mutating func siftUp() {
        var child = count - 1
        while child > 0, self[child].precedes(self[(child - 1) / 2]) {
            swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Restores the heap after the first one has changed.
    fileprivate mutating func siftDown() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < count {
                if self[child].precedes(self[least]) {
                    least = child
                }
            }
            guard least != parent else {
                return
            }
            swapAt(parent, least)
            parent = least
        }
    }
}
