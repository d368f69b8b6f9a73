/// What a listing asks for.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the bytes are only read, and the caller keeps
/// them in place until the completion has been called.
@safe
@usableFromInline
package struct PageRequest: @unchecked Sendable {
    package static let limitDefault = 100
    package static let limitMax = 1000

    /// Only names that begin with these bytes.
    let prefix: UnsafeRawBufferPointer
    /// Only names after this one, which need not exist.
    let after: UnsafeRawBufferPointer?
    let limit: Int

    package init(
        prefix: UnsafeRawBufferPointer,
        after: UnsafeRawBufferPointer?,
        limit: Int
    ) {
        precondition((1...Self.limitMax).contains(limit), "a page has 1 to 1000 properties")
        unsafe self.prefix = prefix
        unsafe self.after = after
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
    /// Merges the stripes' sorted names up to the limit: one walk for each stripe, the smallest
    /// name first from a binary heap.
    ///
    /// The caller holds every stripe, so the page is of one revision. Nothing of a stripe but the
    /// listed properties outlives the call: a copy that is kept would make the next write to that
    /// stripe copy it whole.
    @usableFromInline
    init(_ request: PageRequest, stripes: [Stripe], ledger: Ledger) {
        var heap: [Head] = []
        for stripe in stripes where stripe.count > 0 {
            var walk = Self.walk(stripe.order, request)
            if let property = walk.next(), unsafe property.nameBytes.begins(with: request.prefix) {
                heap.append(Head(property: property, walk: walk))
                heap.siftUp()
            }
        }
        var properties: [Property] = []
        while properties.count < request.limit, let first = heap.first {
            properties.append(first.property)
            if let next = heap[0].walk.next(),
                unsafe next.nameBytes.begins(with: request.prefix)
            {
                heap[0].property = next
            } else {
                heap.swapAt(0, heap.count - 1)
                heap.removeLast()
            }
            heap.siftDown()
        }
        self.init(revision: ledger.revision, properties: properties, hasMore: !heap.isEmpty)
    }

    /// Names with a common prefix stand together, so the walk begins at whichever of prefix and
    /// cursor comes later.
    private static func walk(_ order: NameOrder, _ request: PageRequest) -> NameOrder.Walk {
        if let after = unsafe request.after, unsafe !after.precedes(request.prefix) {
            return unsafe order.walk(from: after, including: false)
        }
        return unsafe order.walk(from: request.prefix, including: true)
    }
}

/// The next property of one stripe, and the walk that yields those behind it.
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
