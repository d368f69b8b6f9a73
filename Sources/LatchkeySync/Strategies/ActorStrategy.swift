/// `actor`: a Swift actor.
///
/// Nothing blocks: every access is submitted.
///
/// The actor's methods do not suspend, so its re-entrancy has nothing to interleave. Accesses that
/// one thread submits are applied in the order of submission: an immediate task runs on the
/// submitting thread until it waits for the actor, and all have one priority. The completion runs
/// on the cooperative pool and must not block it. Submitting from inside is fine.
///
/// - *Guarantees:* no thread ever blocks; the backlog of writes is bounded.
/// - *Use it when* the callers are asynchronous already.
/// - *Not when* short sections are entered from synchronous code. One actor is one stripe, so the
///   service has one for its store.
/// - *Trap:* "no locks" is not "no cost": alone, an access takes 10 times as long as under a lock,
///   because each one is a task. State can change across an `await`; the methods here do not
///   suspend, so it cannot inside a body.
///
/// ```sh
/// latchkey compare --strategies actor,lock --threads 1
/// ```
public struct ActorStrategy: NamedStrategy {
    public static let kind = StrategyKind.actor
    public static let summary = "A Swift actor; nothing blocks, every access is submitted."
    public static let traits = StrategyTraits(
        blocksCaller: false,
        appliesWritesAsynchronously: true,
        handsOffFairly: true
    )

    @usableFromInline let isolation = Isolation()
    @usableFromInline let entrants = Entrants()
    @usableFromInline let backlog: Backlog

    @inlinable public init() { self.init(backlogMax: BacklogBound.standard) }

    /// - Parameter backlogMax: How many accepted writes may wait to be applied.
    @inlinable
    public init(backlogMax: Int) {
        backlog = Backlog(max: backlogMax)
    }

    @inlinable public var backlogCount: Int { backlog.count }

    @inlinable
    public func submitRead<Value, Observer: EntryObserver, Result: Sendable>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        submit(observer, .read, completion) {
            unsafe cell.place.pointee.read(body)
        }
    }

    @inlinable
    public func submitWrite<Value, Observer: EntryObserver, Result: Sendable>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try backlog.accept()
        submit(observer, .write, completion) { [backlog] in
            defer { backlog.applied() }
            return unsafe cell.place.pointee.write(body)
        }
    }

    /// One value has one actor, and a cut through several actors would need them to wait for each
    /// other.
    ///
    /// So there is one stripe.
    @inlinable
    public static func submitReadAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ cells: [Cell<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        precondition(
            strategies.count == 1 && cells.count == 1 && observers.count == 1,
            "The strategy 'actor' cannot hold several stripes still: use one stripe."
        )
        strategies[0].submitRead(
            cells[0],
            observer: observers[0],
            { body([$0]) },
            completion: completion
        )
    }

    @inlinable
    func submit<Observer: EntryObserver, Result: Sendable>(
        _ observer: Observer,
        _ mode: AccessMode,
        _ completion: @escaping @Sendable (Result) -> Void,
        _ body: @escaping @Sendable () -> Result
    ) {
        var entry = observer.asks(mode)
        if Observer.isActive && !entrants.join(mode, isConcurrent: false) {
            observer.isBlocked(&entry)
        }
        Task.immediate(priority: .medium) { [isolation, entrants, entry] in
            let result = await isolation.run { [entry] in
                var entry = entry
                observer.enters(&entry)
                let result = body()
                observer.leaves(entry)
                if Observer.isActive {
                    entrants.leave(mode)
                }
                return result
            }
            completion(result)
        }
    }
}

/// The actor. It holds nothing itself: what it isolates is in the cell.
@usableFromInline
actor Isolation {
    @inlinable init() {}

    @inlinable
    func run<Result: Sendable>(_ body: @Sendable () -> Result) -> Result {
        body()
    }
}
