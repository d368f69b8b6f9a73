/// All properties as of one revision, in the order of their names.
///
/// **Design.** It shares the sorted lists of the tables, which are values: taking it copies one
/// reference for each table, while all stripes are held. Afterwards it needs no lock, however long
/// it is used. Meanwhile a write copies the chunk of 512 references that it changes, once.
package struct StoreSnapshot: Sendable {
    /// The revision that the properties are of.
    package let revision: Revision
    /// When the snapshot was taken: properties whose time was over then are left out.
    package let time: Timestamp
    /// The number of the latest use: properties that are not in the snapshot have later ones.
    let useCount: UInt64
    private let orders: [NameOrder]

    init(tables: [PropertyTable], context: CommitContext) {
        revision = context.revisions.last
        time = context.clock.now()
        useCount = context.useCount
        orders = tables.map(\.order)
    }

    /// The property that has the name, unless its time is over.
    func find(_ name: PropertyName) -> Property? {
        guard let property = orders[name.stripe(of: orders.count)].find(name),
            !property.isExpired(at: time)
        else {
            return nil
        }
        return property
    }

    /// The properties whose names begin with the prefix, and follow `after`.
    ///
    /// Those whose time is over are left out, unless they are wanted.
    package func walk(
        prefix: OwnedBytes,
        after: OwnedBytes? = nil,
        includesExpired: Bool = false
    ) -> MergedWalk {
        let time = includesExpired ? Timestamp(milliseconds: .min) : time
        return MergedWalk(orders, prefix: prefix, after: after, at: time)
    }

    /// A count of the properties whose names begin with the prefix.
    package func counting(prefix: OwnedBytes) -> SnapshotCount {
        SnapshotCount(orders[...], prefix, at: time)
    }

    /// A hash of the whole state, which is the same in every process: of the names and values, and
    /// of all revisions.
    package var digest: UInt64 {
        var digest = revision &* 0x9E37_79B9_7F4A_7C15
        visit { digest &+= $0.digest }
        return digest
    }

    /// Calls `body` with each property, also one whose time is over, in no order.
    func visit(_ body: (Property) -> Void) {
        for order in orders {
            order.visit(body)
        }
    }
}

/// What is read of a snapshot, some names at a time.
package protocol PiecewiseReading: Sendable {
    /// Visits about so many names.
    ///
    /// - Returns: Whether all is read.
    mutating func read(unitsMax: Int) -> Bool
}

/// A count of properties on its way.
package struct SnapshotCount: PiecewiseReading {
    private var orders: ArraySlice<NameOrder>
    private var walk: NameOrder.Walk?
    private let prefix: OwnedBytes
    private let time: Timestamp
    package private(set) var count = 0

    fileprivate init(_ orders: ArraySlice<NameOrder>, _ prefix: OwnedBytes, at time: Timestamp) {
        self.orders = orders
        self.prefix = prefix
        self.time = time
    }

    package mutating func read(unitsMax: Int) -> Bool {
        for _ in 0..<unitsMax {
            if let property = walk?.next(), unsafe property.nameBytes.begins(with: prefix.bytes) {
                count += property.isExpired(at: time) ? 0 : 1
            } else if let order = orders.popFirst() {
                walk = unsafe order.walk(from: prefix.bytes, including: true)
            } else {
                return true
            }
        }
        return false
    }
}
