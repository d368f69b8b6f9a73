/// A lock without data: a word or a handle.
///
/// The first of three layers. A raw lock knows nothing of the value it protects; a strategy turns
/// it into shared and exclusive access; ``Synchronized`` owns the value. Only here are things
/// called `lock` and `unlock`.
public protocol RawLock: Sendable {
    init()

    /// Waits until the calling thread holds the lock.
    func lock()

    /// Takes the lock if that is possible at once.
    func tryLock() -> Bool

    /// Lets go. The calling thread must hold the lock.
    func unlock()
}

/// A strategy that is one raw lock: readers and writers exclude each other.
public protocol ExclusiveLockStrategy: BlockingStrategy {
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

    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = enter(observer, .read)
        defer {
            observer.leaves(entry)
            rawLock.unlock()
        }
        return try unsafe body(cell.memory.pointee)
    }

    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = enter(observer, .write)
        defer {
            observer.leaves(entry)
            rawLock.unlock()
        }
        return try unsafe body(&cell.memory.pointee)
    }
}
