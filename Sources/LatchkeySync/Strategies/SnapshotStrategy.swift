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
public struct SnapshotStrategy: NamedStrategy, TryingStrategy {
    public static let kind = StrategyKind.snapshot
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
