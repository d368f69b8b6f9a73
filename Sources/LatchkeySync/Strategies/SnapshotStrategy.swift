public import Synchronization

/// `snapshot`: an immutable value, swapped atomically.
///
/// Readers never wait and never block a writer. A writer changes a copy and publishes it.
///
/// A reader sees one whole value, which may be older than a write that happens meanwhile. If a
/// writer's body throws, nothing is published. A write copies the value. The old value is freed
/// when the readers that were inside have left, those of other snapshots included: by the write
/// itself, or by the last of those readers.
///
/// The same thread may read inside a read. In builds without the re-entry check, a write inside a
/// read takes effect for later reads, and a write inside a write hangs.
///
/// - *Guarantees:* a reader enters at once, always, and keeps the value it has seen.
/// - *Use it when* state is mostly read: configuration, routing tables, flags.
/// - *Not when* large values change often: each write copies the value, in the service a stripe.
/// - *Trap:* the copy grows with the value. With 100,000 keys in one value a write takes a thousand
///   times as long as with one. Two reads can see two different values: read once and use that. A
///   reader that stays inside for long keeps all old values of the process in memory.
///
/// ```sh
/// latchkey compare --strategies snapshot,lock --threads 2 --read-ratio 0.9 --keys 1,100000
/// ```
public struct SnapshotStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.snapshot

    /// The strategy in one sentence.
    public static let summary =
        "An immutable value swapped atomically; readers never wait, writers copy."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(
            isReentrant: true,
            allowsConcurrentReaders: true,
            readsDuringWrites: true
        )
    }

    /// Guards the exchange of the address: the writers' lock.
    public let rawLock = AdaptiveLock()

    @usableFromInline let epochs: Epochs

    /// Makes a strategy for one value.
    public init() { epochs = .domain }

    /// With readers counted apart from the rest of the process, for tests.
    init(epochs: Epochs) { self.epochs = epochs }

    /// Reads.
    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var entry = observer.asks(.read)
        let reading = epochs.enter()
        observer.enters(&entry)
        defer {
            observer.leaves(entry)
            epochs.leave(reading)
        }
        // Sequentially consistent: R3 in ``Epochs``. It also acquires what the writer stored.
        let storage = unsafe guarded.address.load(ordering: .sequentiallyConsistent)
        return try unsafe storage.pointee.read(body)
    }

    /// Writes.
    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try replace(guarded, observer, enter(observer, .write), body)
    }

    /// Writes if the caller need not wait.
    @inlinable
    public func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let entry = tryEnter(observer) else {
            return nil
        }
        return try replace(guarded, observer, entry, body)
    }

    /// Publishes all values before it lets writers in.
    @inlinable
    public static func writeAll<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var replaced: [Replaced] = []
        defer {
            for (strategy, old) in zip(strategies, replaced) {
                strategy.epochs.discard(old)
            }
        }
        return try holding(.write, strategies, observers: observers) {
            () throws(Failure) -> Result in
            var values = guarded.map { $0.read { $0 } }
            let result = try body(&values)
            SeveralValues.expect(values.count, of: guarded.count)
            for (index, guarded) in guarded.enumerated() {
                replaced.append(strategies[index].publish(values[index], in: guarded))
            }
            return result
        }
    }

    /// Changes a copy, publishes it, and leaves the section that the calling thread has entered.
    ///
    /// What was replaced is disposed of after the lock is released.
    @inlinable
    func replace<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ observer: Observer,
        _ entry: Observer.Entry,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var replaced: Replaced?
        defer {
            leave(observer, .write, entry)
            if let replaced {
                epochs.discard(replaced)
            }
        }
        var copy = guarded.read { $0 }
        let result = try body(&copy)
        replaced = publish(copy, in: guarded)
        return result
    }

    /// Makes the value the one that readers find; returns the one before.
    @inlinable
    func publish<Value>(_ value: consuming Value, in guarded: GuardedValue<Value>) -> Replaced {
        // Sequentially consistent: W1 in ``Epochs``. It also releases the value to readers.
        let old = unsafe guarded.address.exchange(
            GuardedValue.allocate(value),
            ordering: .sequentiallyConsistent
        )
        return unsafe Replaced(old, stamp: epochs.replaced()) { old in
            unsafe GuardedValue.free(old.assumingMemoryBound(to: Storage<Value>.self))
        }
    }
}
