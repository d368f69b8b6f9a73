/// A strategy that is one raw lock: readers take its shared way in, writers its exclusive one.
///
/// All access functions follow from the lock. A strategy whose lock can be tried adds
/// ``TryingStrategy`` to its conformances and nothing else; likewise ``TimedStrategy`` for a
/// ``TimedLock``, and ``ConditionStrategy`` for a ``ConditionLock``.
public protocol LockingStrategy: InPlaceStrategy {
    /// The type of the lock.
    associatedtype Lock: RawLock

    /// The lock.
    var rawLock: Lock { get }
}

/// Any raw lock as a strategy.
///
/// The strategies with a name that are one lock are this type: `AdaptiveStrategy` is
/// `RawLockStrategy<AdaptiveLock>`.
///
/// ```swift
/// let scores = Synchronized<[String: Int], RawLockStrategy<MyLock>>([:])
/// ```
public struct RawLockStrategy<Lock: RawLock>: LockingStrategy, TryingStrategy, MakeableStrategy {
    /// That of the lock.
    public static var name: String { Lock.name }

    /// Those of the lock.
    @inlinable public static var traits: StrategyTraits { Lock.traits }

    /// The lock.
    public let rawLock: Lock

    /// Makes the lock.
    @inlinable public init() { rawLock = Lock() }

    /// Makes the lock, in the memory of the value if it has room there.
    @inlinable public init(in memory: LockMemory) { rawLock = Lock(in: memory) }
}

extension RawLockStrategy: NamedStrategy where Lock: NamedLock {
    /// The lock's case.
    public static var kind: StrategyKind { Lock.kind }

    /// The lock's sentence.
    public static var summary: String { Lock.summary }
}

extension RawLockStrategy: TimedStrategy where Lock: TimedLock {}
extension RawLockStrategy: ConditionStrategy where Lock: ConditionLock {}

extension Strategy {
    /// Whether an observer hears of each access that has to wait, which the lock decides if there
    /// is one.
    package static var tellsOfWaiting: Bool {
        let below =
            (Self.self as? any LockingStrategy.Type)?.lockTellsOfWaiting
            ?? (Self.self as? any WrappingStrategy.Type)?.baseTellsOfWaiting
        return traits.tellsOfWaiting && below != false
    }
}

extension WrappingStrategy {
    fileprivate static var baseTellsOfWaiting: Bool { Base.tellsOfWaiting }
}

extension LockingStrategy {
    fileprivate static var lockTellsOfWaiting: Bool { Lock.traits.tellsOfWaiting }

    /// Takes the lock, and tells the observer whether that had to wait.
    @inlinable
    @inline(__always)
    func enter<Observer: EntryObserver>(
        _ observer: Observer,
        _ mode: AccessMode
    ) -> Observer.Entry {
        var entry = observer.asks(mode)
        if Observer.isActive && Lock.traits.tellsOfWaiting {
            if !rawLock.tryLock(mode) {
                observer.isBlocked(&entry)
                rawLock.lock(mode)
            }
        } else {
            rawLock.lock(mode)
        }
        observer.enters(&entry)
        return entry
    }

    /// Takes the lock for writing if that is possible at once.
    ///
    /// A failed try is no access: the observer does not hear of it.
    @inlinable
    @inline(__always)
    func tryEnter<Observer: EntryObserver>(_ observer: Observer) -> Observer.Entry? {
        guard rawLock.tryLock() else {
            return nil
        }
        var entry = observer.asks(.write)
        observer.enters(&entry)
        return entry
    }

    @inlinable
    @inline(__always)
    func leave<Observer: EntryObserver>(
        _ observer: Observer,
        _ mode: AccessMode,
        _ entry: Observer.Entry
    ) {
        observer.leaves(entry)
        rawLock.unlock(mode)
    }

    /// Runs `body` while the calling thread holds the lock, if it is free.
    @inlinable
    @inline(__always)
    public func tryAccess<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let entry = tryEnter(observer) else {
            return nil
        }
        defer { leave(observer, .write, entry) }
        return try body()
    }

    /// Runs `body` while the calling thread holds or shares the lock.
    @inlinable
    @inline(__always)
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ mode: AccessMode,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = enter(observer, mode)
        defer { leave(observer, mode, entry) }
        return try body()
    }

    /// Takes the lock and keeps it.
    @inlinable
    public func hold<Observer: EntryObserver>(
        _ mode: AccessMode,
        observer: Observer
    ) -> Release {
        let entry = enter(observer, mode)
        return { leave(observer, mode, entry) }
    }
}
