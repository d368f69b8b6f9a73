/// The parameters of a listing.
@usableFromInline
package struct PageRequest: Sendable {
    package static let limitDefault = 100
    package static let limitMax = 1000

    /// Only names that begin with these bytes.
    let prefix: OwnedBytes
    /// Only names after this one, which need not exist.
    let after: OwnedBytes?
    let limit: Int

    package init(
        prefix: OwnedBytes,
        after: OwnedBytes?,
        limit: Int
    ) {
        precondition((1...Self.limitMax).contains(limit), "A page has 1 to 1000 properties.")
        self.prefix = prefix
        self.after = after
        self.limit = limit
    }
}

/// Properties in the order of their names, all as of one revision of the store.
@usableFromInline
package struct Page: Sendable {
    package let revision: Revision
    package let properties: [Property]
    /// Whether more properties follow.
    package let hasMore: Bool
}

extension Page {
    /// Merges the tables' sorted names up to the limit: one walk for each table, the smallest
    /// name first from a binary heap.
    ///
    /// The caller holds every stripe, so the page is of one revision. Nothing of a table but the
    /// listed properties outlives the call: a copy that is kept would make the next write to that
    /// table copy it whole.
    @usableFromInline
    init(_ request: PageRequest, tables: [PropertyTable], context: CommitContext) {
        let prefix = unsafe request.prefix.bytes
        var heap: [Head] = []
        for table in tables where table.count > 0 {
            var walk = Self.walk(table.order, request)
            if let property = walk.next(), unsafe property.nameBytes.begins(with: prefix) {
                heap.append(Head(property: property, walk: walk))
                heap.siftUp()
            }
        }
        var properties: [Property] = []
        while properties.count < request.limit, let first = heap.first {
            properties.append(first.property)
            if let next = heap[0].walk.next(),
                unsafe next.nameBytes.begins(with: prefix)
            {
                heap[0].property = next
            } else {
                heap.swapAt(0, heap.count - 1)
                heap.removeLast()
            }
            heap.siftDown()
        }
        self.init(revision: context.revisions.last, properties: properties, hasMore: !heap.isEmpty)
    }

    /// Names with a common prefix stand together, so the walk begins at the later one of
    /// prefix and cursor.
    private static func walk(_ order: NameOrder, _ request: PageRequest) -> NameOrder.Walk {
        let prefix = unsafe request.prefix.bytes
        if let after = request.after, unsafe !after.bytes.precedes(prefix) {
            return unsafe order.walk(from: after.bytes, including: false)
        }
        return unsafe order.walk(from: prefix, including: true)
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
