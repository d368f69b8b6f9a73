/// `read-write-lock`: `pthread_rwlock_t`.
///
/// Readers share, writers exclude, and a waiting writer goes before new readers. See
/// ``ReadWriteLock``.
///
/// Entering again on the same thread fails or hangs: reading inside a read hangs only while a
/// writer waits, which is worse, because it passes every quiet test.
public struct ReadWriteLockStrategy: NamedStrategy, TryingStrategy {
    public static let kind = StrategyKind.readWriteLock
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
