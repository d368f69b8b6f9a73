/// A strategy that is one raw lock: readers and writers exclude each other.
public protocol ExclusiveLockStrategy: TryingStrategy {
    associatedtype Lock: RawLock

    var rawLock: Lock { get }
}

extension ExclusiveLockStrategy {
    /// Takes the lock, and tells the observer whether that had to wait.
    @inlinable
    func enter<Observer: EntryObserver>(
        _ observer: Observer,
        _ mode: AccessMode
    ) -> Observer.Entry {
        var entry = observer.asks(mode)
        if Observer.isActive {
            if !rawLock.tryLock() {
                observer.isBlocked(&entry)
                rawLock.lock()
            }
        } else {
            rawLock.lock()
        }
        observer.enters(&entry)
        return entry
    }

    /// Takes the lock if that is possible at once.
    ///
    /// A failed try is no access: the observer does not hear of it.
    @inlinable
    func tryEnter<Observer: EntryObserver>(
        _ observer: Observer,
        _ mode: AccessMode
    ) -> Observer.Entry? {
        guard rawLock.tryLock() else {
            return nil
        }
        var entry = observer.asks(mode)
        observer.enters(&entry)
        return entry
    }

    @inlinable
    func leave<Observer: EntryObserver>(_ observer: Observer, _ entry: Observer.Entry) {
        observer.leaves(entry)
        rawLock.unlock()
    }

    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = enter(observer, .read)
        defer { leave(observer, entry) }
        return try unsafe cell.place.pointee.read(body)
    }

    @inlinable
    public func holdWriters<Observer: EntryObserver>(observer: Observer) -> WriterRelease {
        let entry = enter(observer, .read)
        return { leave(observer, entry) }
    }

    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = enter(observer, .write)
        defer { leave(observer, entry) }
        return try unsafe cell.place.pointee.write(body)
    }

    @inlinable
    public func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let entry = tryEnter(observer, .write) else {
            return nil
        }
        defer { leave(observer, entry) }
        return try unsafe cell.place.pointee.write(body)
    }
}
