public import Synchronization

/// `mutex`: `Synchronization.Mutex`, what Swift ships.
///
/// Never tried before waiting: in the toolchains where it is a priority-inheriting futex, a failed
/// `withLockIfAvailable` is a system call and makes the holder's unlock another one. So the
/// observer never hears ``EntryObserver/isBlocked(_:)`` and has to judge by sampling the wait.
///
/// Entering again on the same thread stops or hangs, as the toolchain's `Mutex` does.
///
/// - *Guarantees:* nothing beyond the common ones.
/// - *Use it when* threads do not outnumber processors.
/// - *Not when* they do, with Swift 6.3 on Linux: ownership is handed over in the kernel at every
///   contended unlock.
/// - *Trap:* it is among the best until threads outnumber processors, and then 168 times slower
///   from one number of threads to the next, all threads being served evenly. Probing with
///   `withLockIfAvailable` makes the holder's unlock a system call, so its contention is sampled
///   here, never tried. Newer toolchains link another `Mutex`: the report's fingerprint says which
///   one was measured.
///
/// ```sh
/// latchkey compare --strategies mutex,lock --threads 2,4,8
/// ```
public struct MutexStrategy: NamedStrategy, BlockingStrategy {
    public static let kind = StrategyKind.mutex
    public static let summary = "Mutex of Swift's Synchronization module."
    public static let traits = StrategyTraits(spins: true)

    @usableFromInline let rawLock: MutexLock

    @inlinable public init() { rawLock = MutexLock() }

    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try rawLock.run(observer, .read) { () throws(Failure) -> Result in
            try unsafe cell.place.pointee.read(body)
        }
    }

    /// By the two halves of `withLock`, since the lock is held beyond a call.
    @inlinable
    public func holdWriters<Observer: EntryObserver>(observer: Observer) -> WriterRelease {
        var entry = observer.asks(.read)
        rawLock.mutex._unsafeLock()
        observer.enters(&entry)
        return { [entry] in
            observer.leaves(entry)
            rawLock.mutex._unsafeUnlock()
        }
    }

    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try rawLock.run(observer, .write) { () throws(Failure) -> Result in
            try unsafe cell.place.pointee.write(body)
        }
    }
}

/// A mutex that a strategy can hold: `Mutex` itself cannot be copied.
@usableFromInline
final class MutexLock: Sendable {
    @usableFromInline let mutex = Mutex<Void>(())

    @inlinable init() {}

    @inlinable
    func run<Observer: EntryObserver, Result, Failure: Error>(
        _ observer: Observer,
        _ mode: AccessMode,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var entry = observer.asks(mode)
        return try mutex.withLock { _ throws(Failure) -> Handed<Result> in
            observer.enters(&entry)
            defer { observer.leaves(entry) }
            return Handed(value: try body())
        }.value
    }
}

/// Carries a result out of `Mutex.withLock`, which wants one that may change threads.
///
/// SAFETY: `@unchecked Sendable` because the result stays on the calling thread: `withLock` has
/// returned it before anybody else could see it.
@usableFromInline
struct Handed<Value>: @unchecked Sendable {
    @usableFromInline let value: Value

    @inlinable
    init(value: Value) {
        self.value = value
    }
}
