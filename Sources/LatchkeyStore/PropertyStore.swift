public import LatchkeySync

/// The properties, guarded by a strategy.
///
/// **Design.** Names are spread over stripes by their hash; each stripe is a value of its own
/// under the strategy, so an operation on one property meets only the operations on the same
/// stripe. Check and change are one step inside the guarded section. A listing holds all stripes.
///
/// Every operation takes a completion, because some strategies apply it later: it is called
/// exactly once, outside the guarded section, before the call returns if the strategy blocks and
/// on another thread if not.
@usableFromInline
package final class PropertyStore<Guard: Strategy>: Sendable {
    @usableFromInline let stripes: Striped<Stripe, Guard>
    @usableFromInline let ledger: Ledger

    /// Makes an empty store, with a strategy of its own for each stripe.
    package init(limits: StoreLimits, stripeCount: Int, strategy: () -> Guard) {
        let ledger = Ledger(
            limits: limits,
            ordersPublication: Guard.traits.readsDuringWrites
        )
        self.ledger = ledger
        stripes = Striped(count: stripeCount, strategy: strategy) { _ in Stripe(ledger: ledger) }
    }

    package var usage: StoreUsage { ledger.usage }

    /// Writes that were accepted and are not yet applied.
    package var backlogCount: Int { stripes.backlogCount }

    @inlinable
    func index(_ name: PropertyName) -> Int {
        stripes.index(hash: Int(truncatingIfNeeded: name.hash))
    }

    /// Gets a property.
    ///
    /// The name's bytes stay in place until the completion has been called; so for the others.
    @inlinable
    package func get(
        _ name: PropertyName,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (Property?) -> Void
    ) {
        stripes.submitRead(
            index(name),
            observer: observer,
            { $0.get(name) },
            completion: completion
        )
    }

    /// Creates or replaces a property, whose value must be a valid JSON text.
    @inlinable
    package func put(
        _ name: PropertyName,
        value: UnsafeRawBufferPointer,
        conditions: Conditions,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (PutResult) -> Void
    ) throws(BacklogFull) {
        // Made out here, so that nothing is copied or allocated while others wait.
        let property = unsafe Property(name: name, value: value)
        try submitWrite(
            name,
            observer: observer,
            { $0.put(property, name: name, conditions: conditions) },
            completion: completion
        )
    }

    @inlinable
    package func delete(
        _ name: PropertyName,
        conditions: Conditions,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (DeleteResult) -> Void
    ) throws(BacklogFull) {
        try submitWrite(
            name,
            observer: observer,
            { $0.delete(name, conditions: conditions) },
            completion: completion
        )
    }

    /// Adds to an integer; a property that does not exist counts from 0.
    @inlinable
    package func increment(
        _ name: PropertyName,
        by step: Int64,
        conditions: Conditions,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (IncrementResult) -> Void
    ) throws(BacklogFull) {
        try submitWrite(
            name,
            observer: observer,
            { $0.increment(name, by: step, conditions: conditions) },
            completion: completion
        )
    }

    /// Removes all properties whose names hash to the same stripe as this one.
    @inlinable
    package func removeAll(
        inStripeOf name: PropertyName,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable () -> Void = {}
    ) throws(BacklogFull) {
        try submitWrite(
            name,
            observer: observer,
            { $0.removeAll() },
            completion: completion
        )
    }

    /// Submits a write to the stripe of `name`.
    ///
    /// Where readers do not wait for writers, the ledger is told when they see what it wrote.
    @inlinable
    @inline(__always)
    func submitWrite<Result: Sendable>(
        _ name: PropertyName,
        observer: some EntryObserver,
        _ body: @escaping @Sendable (inout Stripe) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let stripe = index(name)
        guard Guard.traits.readsDuringWrites else {
            return try stripes.submitWrite(
                stripe,
                observer: observer,
                body,
                completion: completion
            )
        }
        try stripes.submitWrite(
            stripe,
            observer: PublicationObserver(observer, ledger),
            body,
            completion: completion
        )
    }

    /// Lists properties in the order of their names, as of one revision.
    @inlinable
    package func list(
        _ request: PageRequest,
        observer: some EntryObserver = NoObserver(),
        completion: @escaping @Sendable (Page) -> Void
    ) {
        stripes.submitReadAll(
            observer: observer,
            { [ledger] in Page(request, stripes: $0, ledger: ledger) },
            completion: completion
        )
    }
}
