/// A strategy that a raw lock lets callers into, so that they can be refused.
///
/// The lock decides what is possible: each can be tried, a ``TimedLock`` can be waited for until a
/// deadline, and the holder of a ``ConditionLock`` can wait for a condition. A queue cannot be
/// tried, and an entry cannot be taken back from it.
public protocol LockingStrategy<Lock>: BlockingStrategy {
    /// The type of the lock.
    associatedtype Lock: RawLock

    /// Runs `body` inside, or returns nil if the caller would have to wait.
    ///
    /// A failed try is no access: the observer does not hear of it.
    func tryAccess<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result?

    /// Runs `body` inside once `wait` has taken the lock, or returns nil if it has not.
    ///
    /// `@unsafe`: `wait` is believed.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - observer: Hears of the access, or that it was given up.
    ///   - wait: Takes the lock, and calls its second argument once if it cannot at once. Returns
    ///     how it holds the lock; nil if it gave up.
    ///   - body: Runs inside.
    /// - Returns: The result of `body`, or nil if it did not run.
    /// - Throws: The error of `body`.
    @unsafe func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        waiting wait: (Lock, _ isBlocked: () -> Void) -> AccessMode?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result?

    /// Runs `body` inside once `wait` has taken the lock for the task, which is suspended
    /// meanwhile; or returns nil if it has not.
    ///
    /// `@unsafe`: `wait` is believed. When it returns, the thread that goes on holds the lock, and
    /// the task is not suspended again before it is released.
    ///
    /// As ``access(_:observer:waiting:_:)``, whose parameters it has.
    @unsafe nonisolated(nonsending) func access<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        suspending wait:
            nonisolated(nonsending) (Lock, _ isBlocked: () -> Void) async ->
            AccessMode?,
        _ body: () -> Result
    ) async -> Result?

    /// That a body runs inside, and once at most.
    static var lockingPromise: Promise<Self> { get }
}

/// Any raw lock as a strategy: readers take its shared way in, writers its exclusive one.
///
/// The strategies with a name that are one lock are this type: `AdaptiveStrategy` is
/// `RawLockStrategy<AdaptiveLock>`.
///
/// ```swift
/// let scores = Synchronized<[String: Int], RawLockStrategy<MyLock>>([:])
/// ```
public struct RawLockStrategy<Lock: RawLock>: InPlaceStrategy, MakeableStrategy, LockingStrategy {
    /// The promise.
    @inlinable public static var strategyPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var blockingPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var inPlacePromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var lockingPromise: Promise<Self> { unsafe .unchecked() }

    /// The lock's name.
    public static var name: String { Lock.name }

    /// The lock's summary.
    public static var summary: String { Lock.summary }

    /// The lock's traits.
    @inlinable public static var traits: StrategyTraits { Lock.traits }

    /// Not public: code that has it can let others in.
    @usableFromInline package let rawLock: Lock

    /// Makes the lock.
    @inlinable public init() {
        _ = Lock.rawLockPromise
        rawLock = Lock()
    }

    /// Makes the lock, in the memory of the value if it has room there.
    @inlinable public init(in memory: LockMemory) {
        _ = Lock.rawLockPromise
        rawLock = Lock(in: memory)
    }

    /// Runs `body` while the calling thread holds or shares the lock.
    @inlinable @inline(__always)
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = enter(request, observer)
        defer { leave(request.mode, observer, entry) }
        return try body()
    }

    /// Runs `body` while the calling thread holds or shares the lock, if that is possible at once.
    @inlinable @inline(__always)
    public func tryAccess<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard rawLock.tryLock(request.mode) else { return nil }
        var entry = observer.asks(request)
        observer.enters(&entry)
        defer { leave(request.mode, observer, entry) }
        return try body()
    }

    /// Runs `body` while the calling thread holds or shares the lock, if `wait` takes it.
    @unsafe @inlinable @inline(__always)
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        waiting wait: (Lock, _ isBlocked: () -> Void) -> AccessMode?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        var entry = observer.asks(request)
        guard let held = wait(rawLock, { observer.isBlocked(&entry) }) else {
            observer.givesUp(entry)
            return nil
        }
        observer.enters(&entry)
        defer { leave(held, observer, entry) }
        return try body()
    }

    /// Runs `body` while the task's thread holds or shares the lock, if `wait` takes it.
    @unsafe @inlinable
    nonisolated(nonsending) public func access<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        suspending wait:
            nonisolated(nonsending) (Lock, _ isBlocked: () -> Void) async ->
            AccessMode?,
        _ body: () -> Result
    ) async -> Result? {
        var entry = observer.asks(request)
        guard let held = await wait(rawLock, { observer.isBlocked(&entry) }) else {
            observer.givesUp(entry)
            return nil
        }
        observer.enters(&entry)
        defer { leave(held, observer, entry) }
        return body()
    }

    /// Takes the lock and keeps it.
    @unsafe @inlinable public func hold<Observer: EntryObserver>(
        _ request: AccessRequest,
        observer: Observer
    ) -> Release {
        let entry = enter(request, observer)
        return { leave(request.mode, observer, entry) }
    }

    /// Takes the lock, and tells the observer whether that had to wait.
    @inlinable @inline(__always) func enter<Observer: EntryObserver>(
        _ request: AccessRequest,
        _ observer: Observer
    ) -> Observer.Entry {
        var entry = observer.asks(request)
        if Observer.isActive && Lock.traits.tellsOfWaiting {
            if !rawLock.tryLock(request.mode) {
                observer.isBlocked(&entry)
                rawLock.lock(request.mode)
            }
        } else {
            rawLock.lock(request.mode)
        }
        observer.enters(&entry)
        return entry
    }

    @inlinable @inline(__always) func leave<Observer: EntryObserver>(
        _ held: AccessMode,
        _ observer: Observer,
        _ entry: Observer.Entry
    ) {
        observer.leaves(entry)
        rawLock.unlock(held)
    }
}
