public import LatchkeySync

/// A strategy and the probe that sees every access to it.
///
/// Each guard (stripe) has its own: `meter.metered(LockStrategy())`. It decorates any strategy and
/// gives the same access; an observer of the caller's is told as well.
@usableFromInline package struct Metered<Base: Strategy>: Strategy {
    @usableFromInline let base: Base
    @usableFromInline let probe: ContentionProbe

    @inlinable
    package init(_ base: Base, _ meter: ContentionMeter) {
        self.base = base
        probe = ContentionProbe(meter)
    }

    @inlinable package static var name: String { Base.name }
    @inlinable package static var traits: StrategyTraits { Base.traits }
    @inlinable package var backlogCount: Int { base.backlogCount }

    @inlinable
    package func submitRead<Value, Observer: EntryObserver, Result: Sendable>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        let observer = BothObservers(SubmissionProbe(probe), observer)
        base.submitRead(cell, observer: observer, body, completion: completion)
    }

    @inlinable
    package func submitWrite<Value, Observer: EntryObserver, Result: Sendable>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let observer = BothObservers(SubmissionProbe(probe), observer)
        try base.submitWrite(cell, observer: observer, body, completion: completion)
    }

    @inlinable
    package static func submitReadAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ cells: [Cell<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        Base.submitReadAll(
            strategies.map(\.base),
            cells,
            observers: zip(strategies, observers).map {
                BothObservers(SubmissionProbe($0.probe), $1)
            },
            body,
            completion: completion
        )
    }
}

extension Metered: BlockingStrategy where Base: BlockingStrategy {
    @inlinable
    package func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.read(cell, observer: BothObservers(probe, observer), body)
    }

    @inlinable
    package func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.write(cell, observer: BothObservers(probe, observer), body)
    }

    @inlinable
    package func readHoldingWriters<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.readHoldingWriters(cell, observer: BothObservers(probe, observer), body)
    }

    @inlinable
    package func holdWriters<Observer: EntryObserver>(observer: Observer) -> WriterRelease {
        base.holdWriters(observer: BothObservers(probe, observer))
    }
}

extension Metered: TryingStrategy where Base: TryingStrategy {
    @inlinable
    package func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try base.tryWrite(cell, observer: BothObservers(probe, observer), body)
    }
}

extension ContentionMeter {
    /// The strategy with a probe of its own that writes to this meter.
    @inlinable
    package func metered<Base: Strategy>(_ base: Base) -> Metered<Base> {
        Metered(base, self)
    }
}
