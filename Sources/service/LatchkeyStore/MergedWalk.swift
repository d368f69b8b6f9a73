/// The properties of several tables in one order: the first one of each table in a heap.
struct OrderMerge<Sorting: PropertySorting>: Sendable {
    private let orders: [PropertyOrder<Sorting>]
    private var heap: BinaryHeap<Head>

    /// The next property of one table.
    private struct Head: Precedable, Sendable {
        var property: Property
        let order: Int
        var position: PropertyOrder<Sorting>.Position

        func precedes(_ other: Head) -> Bool { Sorting.precedes(property, other.property) }
    }

    /// - Parameters:
    ///   - orders: The properties of each table.
    ///   - start: The place to begin at in one of them.
    ///   - isWanted: Whether the first property of a table is wanted. If it is not, no property of
    ///     the table is.
    init(
        _ orders: [PropertyOrder<Sorting>],
        from start: (PropertyOrder<Sorting>) -> PropertyOrder<Sorting>.Position,
        where isWanted: (Property) -> Bool = { _ in true }
    ) {
        self.orders = orders
        var heads: [Head] = []
        heads.reserveCapacity(orders.count)
        for index in orders.indices {
            let position = start(orders[index])
            if let property = orders[index][position], isWanted(property) {
                heads.append(Head(property: property, order: index, position: position))
            }
        }
        heap = BinaryHeap(consume heads)
    }

    /// The first property that is left.
    var first: Property? { heap.first?.property }

    mutating func removeFirst() {
        moveFirst { order, position in order.position(after: position) }
    }

    /// Goes on elsewhere in the table that has the first property.
    mutating func moveFirst(
        _ move: (PropertyOrder<Sorting>, PropertyOrder<Sorting>.Position) ->
            PropertyOrder<Sorting>.Position
    ) {
        guard let head = heap.first else { return }
        let position = move(orders[head.order], head.position)
        guard let property = orders[head.order][position] else { return heap.removeFirst() }
        heap.updateFirst { ($0.property, $0.position) = (property, position) }
    }
}

extension OrderMerge<NameSorting> {
    /// The same for tables that are held: an order is kept, and counted as referred to, only where
    /// its first property is wanted.
    init(
        _ tables: [PropertyTable],
        from start: (NameOrder) -> NameOrder.Position,
        where isWanted: (Property) -> Bool
    ) {
        var (orders, heads) = ([NameOrder](), [Head]())
        for index in tables.indices {
            let position = start(tables[index].order)
            if let property = tables[index].order[position], isWanted(property) {
                heads.append(Head(property: property, order: orders.count, position: position))
                orders.append(tables[index].order)
            }
        }
        self.orders = orders
        heap = BinaryHeap(consume heads)
    }
}

/// A walk through the properties of several tables whose names begin with a prefix, in the order of
/// their names.
///
/// Expired properties are left out.
package struct MergedWalk: IteratorProtocol, Sequence, Sendable {
    private var merge: OrderMerge<NameSorting>
    private let prefix: OwnedBytes
    private let time: Timestamp

    /// - Parameters:
    ///   - orders: The names of each table.
    ///   - prefix: Only names that begin with these bytes.
    ///   - after: Only names after this one, which need not exist.
    ///   - time: Now.
    init(_ orders: [NameOrder], prefix: OwnedBytes, after: OwnedBytes?, at time: Timestamp) {
        (self.prefix, self.time) = (prefix, time)
        merge = OrderMerge(orders) { order in
            order.position(prefix: prefix, after: after)
        } where: { property in
            unsafe property.nameBytes.begins(with: prefix.bytes)
        }
    }

    /// The same for tables that are held: only those are kept that have such names.
    init(
        _ tables: [PropertyTable],
        prefix: OwnedBytes,
        after: OwnedBytes?,
        at time: Timestamp
    ) {
        (self.prefix, self.time) = (prefix, time)
        merge = OrderMerge(tables) { order in
            order.position(prefix: prefix, after: after)
        } where: { property in
            unsafe property.nameBytes.begins(with: prefix.bytes)
        }
    }

    package mutating func next() -> Property? {
        while let first = merge.first, unsafe first.nameBytes.begins(with: prefix.bytes) {
            merge.removeFirst()
            if !first.isExpired(at: time) { return first }
        }
        return nil
    }

    /// Passes the names before a place.
    ///
    /// - Returns: How many of the tables had such names.
    mutating func skip(to bound: OwnedBytes) -> Int {
        var count = 0
        while let first = merge.first, unsafe first.nameBytes.precedes(bound.bytes) {
            count += 1
            merge.moveFirst { order, _ in unsafe order.position(of: bound.bytes) }
        }
        return count
    }
}
