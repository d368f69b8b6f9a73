/// One stripe of the store: the properties whose names hash to it, and the operations on one of
/// them.
///
/// This is the value that a strategy guards.
///
/// Every operation checks first and changes after: whatever it throws or refuses, the stripe is
/// as before.
@usableFromInline
package struct Stripe: Sendable {
    private var table = NameTable()
    private(set) var order = NameOrder()
    private let ledger: Ledger

    init(ledger: Ledger) {
        self.ledger = ledger
    }

    var count: Int { table.count }

    @usableFromInline
    package func get(_ name: PropertyName) -> Property? {
        table.find(name)
    }

    @usableFromInline
    package mutating func put(
        _ property: Property,
        name: PropertyName,
        conditions: Conditions
    ) -> PutResult {
        let former = table.find(name)
        guard conditions.allow(former?.revision) else {
            return .preconditionFailed
        }
        do {
            try commit(property, name: name, former: former)
        } catch {
            return .full(error)
        }
        return former == nil ? .created(property.revision) : .replaced(property.revision)
    }

    @usableFromInline
    package mutating func delete(_ name: PropertyName, conditions: Conditions) -> DeleteResult {
        guard let former = table.find(name) else {
            return .missing
        }
        guard conditions.allow(former.revision) else {
            return .preconditionFailed
        }
        order.remove(name)
        _ = table.remove(name)
        // Giving room back is never refused.
        try? ledger.reserve(properties: -1, bytes: -former.byteCount)
        return .deleted(ledger.nextRevision())
    }

    @usableFromInline
    package mutating func increment(
        _ name: PropertyName,
        by step: Int64,
        conditions: Conditions
    ) -> IncrementResult {
        let former = table.find(name)
        guard conditions.allow(former?.revision) else {
            return .preconditionFailed
        }
        var number: Int64 = 0
        if let former {
            guard let current = unsafe JSONInteger.parse(former.valueBytes) else {
                return .notAnInteger
            }
            number = current
        }
        let (sum, overflows) = number.addingReportingOverflow(step)
        guard !overflows else {
            return .overflow
        }
        let property = unsafe JSONInteger.withBytes(of: sum) { bytes in
            unsafe Property(name: name, value: bytes)
        }
        do {
            try commit(property, name: name, former: former)
        } catch {
            return .full(error)
        }
        return .incremented(property)
    }

    @usableFromInline
    package mutating func removeAll() {
        var walk = unsafe order.walk(
            from: UnsafeRawBufferPointer(start: nil, count: 0),
            including: true
        )
        var byteCount = 0
        while let property = walk.next() {
            byteCount += property.byteCount
        }
        try? ledger.reserve(properties: -count, bytes: -byteCount)
        table = NameTable()
        order = NameOrder()
    }

    /// Makes room, stores the property and takes a revision for it.
    private mutating func commit(
        _ property: Property,
        name: PropertyName,
        former: Property?
    ) throws(StoreFull) {
        try ledger.reserve(
            properties: former == nil ? 1 : 0,
            bytes: property.byteCount - (former?.byteCount ?? 0)
        )
        _ = table.set(property, for: name)
        if former == nil {
            order.insert(property)
        } else {
            order.replace(property)
        }
        let revision = ledger.nextRevision()
        property.assign(revision: revision, created: former?.created ?? revision)
    }
}

@usableFromInline
package enum PutResult: Sendable, Hashable {
    case created(Revision)
    case replaced(Revision)
    case preconditionFailed
    case full(StoreFull)
}

@usableFromInline
package enum DeleteResult: Sendable, Hashable {
    /// The revision of the deletion.
    case deleted(Revision)
    case missing
    case preconditionFailed
}

@usableFromInline
package enum IncrementResult: Sendable {
    case incremented(Property)
    case preconditionFailed
    /// The value is not an integer of at most 64 bits.
    case notAnInteger
    /// The sum is not an integer of at most 64 bits.
    case overflow
    case full(StoreFull)
}
