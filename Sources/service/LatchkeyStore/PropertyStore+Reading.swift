// Reads of several tables.

internal import LatchkeyGuards
internal import LatchkeySync

extension PropertyStore {
    /// How often tables are read one after the other, before all are held at one moment.
    private static let readingsMax = 2

    /// Reads some tables, all as of one revision, and calls `completion` when it may be seen.
    ///
    /// The tables are read one after the other. A writer holds the tables of its commit until it
    /// has its revision. So if the last revision is the same before and after that, no commit
    /// changed a table in between. Otherwise all are read again, and then at one moment.
    ///
    /// - Parameters:
    ///   - tables: Their stripes, in ascending order.
    ///   - ask: The call site of the access.
    ///   - empty: The content to begin with.
    ///   - completion: Given the reading.
    func read<Content: TableContent>(
        _ tables: [Int],
        _ ask: Ask,
        into empty: Content,
        completion: @escaping @Sendable (TableReading<Content>) -> Void
    ) {
        for _ in 0..<Self.readingsMax {
            var reading = TableReading(empty, context)
            let isRead = tables.allSatisfy { table in
                context.betweenSteps?()
                return stripes.readHeld(table, ask) { reading.read($0) } != nil
            }
            guard isRead else { break }
            if reading.isOfOneRevision { return settle(reading, completion) }
        }
        stripes.submitRead(several: tables, ask) { [context] lend in
            var reading = TableReading(empty, context)
            lend { reading.read($0) }
            return reading
        } completion: { [self] in
            settle($0, completion)
        }
    }

    private func settle<Content>(
        _ reading: TableReading<Content>,
        _ completion: @escaping @Sendable (TableReading<Content>) -> Void
    ) {
        guard let hook = parts.hook else { return completion(reading) }
        hook.whenReleased(reading.revision) { completion(reading) }
    }

    /// The properties of some tables that expire.
    ///
    /// The tables are read one after the other.
    fileprivate func mortals(
        of tables: [Int],
        completion: @escaping @Sendable ([ExpiryOrder]) -> Void
    ) {
        var orders: [ExpiryOrder] = []
        for table in tables {
            guard !stripes.appliesLater(table, .read) else { break }
            orders.append(stripes.read(table, .here(), \.mortals))
        }
        guard orders.count < tables.count else { return completion(orders) }
        stripes.submitRead(several: tables, .here()) { lend in
            var orders: [ExpiryOrder] = []
            lend { orders.append($0.mortals) }
            return orders
        } completion: {
            completion($0)
        }
    }

    /// The stripes of all tables.
    var allTables: [Int] { Array(0..<stripes.count) }
}

extension ExpiryQueue {
    /// Begins to remove properties from a store, whose commits come to ``note(_:)``.
    ///
    /// Call it once. The store is kept from then on, so one that refers to the queue is never
    /// freed: a store lives as long as its process.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - committing: The way to change it, if that is not the store itself.
    package func start(_ store: PropertyStore, by committing: (any CommittingStore)? = nil) {
        start(store.stripes.count, committing ?? store) { store.mortals(of: $0, completion: $1) }
        if store.usage.propertyCount > 0 { look() }
    }
}
