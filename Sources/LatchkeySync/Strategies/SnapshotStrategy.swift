public import Synchronization

/// `snapshot`: an immutable value, swapped atomically.
///
/// Readers never wait and never hold anybody up; a writer changes a copy and publishes it.
///
/// What a reader sees is whole and of one moment, and may be older than a write that happens
/// meanwhile. If a writer's body throws, nothing is published. A write costs a copy of the value,
/// and the old one is freed when the readers that were inside have left, those of other snapshots
/// included: by the write itself, or by the last of those readers.
///
/// The same thread may read inside a read. In builds without the re-entry check, a write inside a
/// read takes effect for later reads, and a write inside a write hangs.
///
/// - *Guarantees:* a reader enters at once, always, and keeps the value it has seen.
/// - *Use it when* state is mostly read: configuration, routing tables, flags.
/// - *Not when* large values change often: each write copies. In the service, that is a stripe.
/// - *Trap:* the copy grows with the value. With 100,000 keys behind one guard a write takes a
///   thousand times as long as with one. Two reads can see two different snapshots: read once and
///   use that. And old values are freed when no reader in the process came before them: one that
///   stays inside a snapshot for long keeps what all others replaced.
///
/// ```sh
/// latchkey compare --strategies snapshot,lock --threads 2 --read-ratio 0.9 --keys 1,100000
/// ```
public struct SnapshotStrategy: NamedStrategy, TryingStrategy {
    public static let kind = StrategyKind.snapshot
    public static let summary =
        "An immutable value swapped atomically; readers never wait, writers copy."
    public static let traits = StrategyTraits(
        isReentrant: true,
        allowsConcurrentReaders: true,
        readsDuringWrites: true
    )

    @usableFromInline let publisher: Publisher

    @inlinable public init() { publisher = Publisher() }

    /// With readers counted apart from the rest of the process, for tests.
    init(epochs: Epochs) { publisher = Publisher(epochs: epochs) }

    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var entry = observer.asks(.read)
        let reading = publisher.epochs.enter()
        observer.enters(&entry)
        defer {
            observer.leaves(entry)
            publisher.epochs.leave(reading)
        }
        // Sequentially consistent: R3 in ``Epochs``. It also acquires what the writer stored.
        let place = unsafe cell.address.load(ordering: .sequentiallyConsistent)
        return try unsafe place.pointee.read(body)
    }

    @inlinable
    public func readHoldingWriters<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = publisher.enter(observer, .read)
        defer { publisher.leave(observer, entry) }
        return try unsafe cell.place.pointee.read(body)
    }

    @inlinable
    public func holdWriters<Observer: EntryObserver>(observer: Observer) -> WriterRelease {
        let entry = publisher.enter(observer, .read)
        return { publisher.leave(observer, entry) }
    }

    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = publisher.enter(observer, .write)
        var replaced: Replaced?
        defer { publisher.leave(observer, entry, replaced) }
        return try replace(cell, &replaced, body)
    }

    @inlinable
    public func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard publisher.writer.tryLock() else {
            return nil
        }
        var entry = observer.asks(.write)
        observer.enters(&entry)
        var replaced: Replaced?
        defer { publisher.leave(observer, entry, replaced) }
        return try replace(cell, &replaced, body)
    }

    /// Changes a copy and publishes it.
    ///
    /// The calling thread holds the writers' lock.
    @inlinable
    func replace<Value, Result, Failure: Error>(
        _ cell: Cell<Value>,
        _ replaced: inout Replaced?,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = unsafe cell.place.pointee.read { $0 }
        let result = try body(&copy)
        // Sequentially consistent: W1 in ``Epochs``. It also releases the copy to readers.
        let old = unsafe cell.address.exchange(
            Cell.allocate(copy),
            ordering: .sequentiallyConsistent
        )
        unsafe replaced = Replaced(old, stamp: publisher.epochs.replaced()) { old in
            unsafe Cell.free(old.assumingMemoryBound(to: Place<Value>.self))
        }
        return result
    }
}
