/// `read-write-lock`: `pthread_rwlock_t`.
///
/// Readers share, writers exclude, and a waiting writer goes before new readers. See
/// ``ReadWriteLock``.
///
/// Entering again on the same thread fails or hangs: reading inside a read hangs only while a
/// writer waits, which is worse, because it passes every quiet test.
///
/// - *Guarantees:* readers share; a waiting writer keeps new readers out.
/// - *Use it when* reads are long and processors are many.
/// - *Not when* sections are short: the count of readers is a line that all of them write.
/// - *Trap:* a single writer now and then takes away what the sharing gave: compare reads only with
///   half writes. glibc's default prefers readers and starves writers; with writers preferred,
///   reading inside a read hangs while a writer waits.
///
/// ```sh
/// latchkey compare --strategies read-write-lock,lock --threads 2 --read-ratio 0.5,1
/// ```
public struct ReadWriteLockStrategy: NamedStrategy, TryingStrategy {
    public static let kind = StrategyKind.readWriteLock
    public static let summary = "pthread_rwlock with writer preference."
    public static let traits = StrategyTraits(allowsConcurrentReaders: true)

    @usableFromInline let rawLock: ReadWriteLock

    @inlinable public init() { rawLock = ReadWriteLock() }

    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = enterShared(observer)
        defer {
            observer.leaves(entry)
            rawLock.unlock()
        }
        return try unsafe cell.place.pointee.read(body)
    }

    @inlinable
    public func holdWriters<Observer: EntryObserver>(observer: Observer) -> WriterRelease {
        let entry = enterShared(observer)
        return {
            observer.leaves(entry)
            rawLock.unlock()
        }
    }

    @inlinable
    func enterShared<Observer: EntryObserver>(_ observer: Observer) -> Observer.Entry {
        var entry = observer.asks(.read)
        if !Observer.isActive {
            rawLock.lockShared()
        } else if !rawLock.tryLockShared() {
            observer.isBlocked(&entry)
            rawLock.lockShared()
        }
        observer.enters(&entry)
        return entry
    }

    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var entry = observer.asks(.write)
        if !Observer.isActive {
            rawLock.lock()
        } else if !rawLock.tryLock() {
            observer.isBlocked(&entry)
            rawLock.lock()
        }
        observer.enters(&entry)
        defer {
            observer.leaves(entry)
            rawLock.unlock()
        }
        return try unsafe cell.place.pointee.write(body)
    }

    @inlinable
    public func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard rawLock.tryLock() else {
            return nil
        }
        var entry = observer.asks(.write)
        observer.enters(&entry)
        defer {
            observer.leaves(entry)
            rawLock.unlock()
        }
        return try unsafe cell.place.pointee.write(body)
    }
}
