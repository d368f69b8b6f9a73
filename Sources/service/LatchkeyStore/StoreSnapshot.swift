/// All properties as of one revision, in the order of their names.
///
/// **Design.** It shares the sorted lists of the tables, which are values: taking it copies one
/// reference for each table. Afterwards it needs no lock, however long it is used. Meanwhile a
/// write copies the chunk of 512 references that it changes, once.
package struct StoreSnapshot: Sendable {
    /// The revision that the properties are of.
    package let revision: Revision
    /// When the snapshot was taken: properties that had expired by then are left out.
    package let time: Timestamp
    /// The number of the latest use: properties that are not in the snapshot have later ones.
    let useCount: UInt64
    private let orders: [NameOrder]

    /// - Parameters:
    ///   - reading: All tables.
    ///   - useCount: As it was before they were read.
    init(_ reading: TableReading<OrderContent>, useCount: UInt64) {
        (revision, time) = (reading.revision, reading.time)
        self.useCount = useCount
        orders = reading.content.orders
    }

    /// The properties whose names begin with the prefix, and follow `after`.
    ///
    /// Expired ones are left out, unless `includesExpired`.
    package func walk(
        prefix: OwnedBytes,
        after: OwnedBytes? = nil,
        includesExpired: Bool = false
    ) -> MergedWalk {
        let time = includesExpired ? Timestamp(milliseconds: .min) : time
        return MergedWalk(orders, prefix: prefix, after: after, at: time)
    }

    /// The properties whose names begin with the prefix, if they are few and short.
    ///
    /// - Parameters:
    ///   - prefix: The prefix.
    ///   - countMax: The maximum number, expired ones included.
    ///   - byteCountMax: The maximum length of their names and values together.
    /// - Returns: Nil if they are more, or longer.
    package func few(prefix: OwnedBytes, countMax: Int, byteCountMax: Int) -> [Property]? {
        var walk = walk(prefix: prefix, includesExpired: true)
        var (count, byteCount, found) = (0, 0, [Property]())
        while let property = walk.next() {
            count += 1
            byteCount += property.byteCount
            guard count <= countMax, byteCount <= byteCountMax else { return nil }
            if !property.isExpired(at: time) { found.append(property) }
        }
        return found
    }

    /// A count of the properties whose names begin with the prefix.
    package func counting(prefix: OwnedBytes) -> SnapshotCount {
        SnapshotCount(walk(prefix: prefix, includesExpired: true), at: time)
    }

    /// A hash of the whole state, which is the same in every process: of the names and values, and
    /// of all revisions.
    package var digest: UInt64 {
        var digest = revision &* 0x9E37_79B9_7F4A_7C15
        visit { digest &+= $0.digest }
        return digest
    }

    /// Calls `body` with each property, also expired ones, in no order.
    func visit(_ body: (Property) -> Void) {
        for order in orders {
            order.visit(body)
        }
    }
}

/// A reading of a snapshot, some names at a time.
package protocol PiecewiseReading: Sendable {
    /// Visits about so many names.
    ///
    /// - Returns: Whether all is read.
    mutating func read(unitsMax: Int) -> Bool
}

/// A count of properties that is not finished.
package struct SnapshotCount: PiecewiseReading {
    private var walk: MergedWalk
    private let time: Timestamp
    package private(set) var count = 0

    /// - Parameters:
    ///   - walk: A walk that also passes expired properties.
    ///   - time: Now.
    fileprivate init(_ walk: MergedWalk, at time: Timestamp) {
        (self.walk, self.time) = (walk, time)
    }

    package mutating func read(unitsMax: Int) -> Bool {
        for _ in 0..<unitsMax {
            guard let property = walk.next() else { return true }
            count += property.isExpired(at: time) ? 0 : 1
        }
        return false
    }
}
