public import Synchronization

/// A lock that its holder can take again.
///
/// ``NestedReadLock`` makes a ``RawLock`` of it. By itself it is not one: a writer could enter
/// again, and change the value that it is changing. It has a case of ``StrategyKind``, so only
/// those of this package conform.
public protocol RecursiveLock: Sendable {
    /// Makes a lock that is free.
    init()

    /// Waits until the calling thread holds the lock, once more if it does already.
    func lock()

    /// Takes the lock if that is possible at once.
    func tryLock() -> Bool

    /// Undoes one ``lock()``.
    func unlock()

    /// The strategy's case.
    static var kind: StrategyKind { get }

    /// The strategy in one sentence.
    static var summary: String { get }

    /// The promises of the strategy, and re-entry, which ``NestedReadLock`` adds.
    static var traits: StrategyTraits { get }

    /// That the holder of the lock is alone.
    static var recursiveLockPromise: Promise<Self> { get }
}

/// A recursive lock that can be waited for until a deadline.
public protocol TimedRecursiveLock: RecursiveLock {
    /// Waits until the calling thread holds the lock, or until the deadline.
    ///
    /// - Returns: Whether the calling thread holds the lock.
    func lock(before deadline: ContinuousClock.Instant) -> Bool

    /// That a thread which is told so holds the lock.
    static var timedRecursiveLockPromise: Promise<Self> { get }
}

/// A recursive lock whose owner may read again inside a read, and nothing else.
///
/// A recursive lock lets its owner in at any time, but no thread may enter a value that is being
/// written a second time, not even its writer: that would be two overlapping accesses to one
/// variable, which is undefined. So this one counts, in every build, and stops.
///
/// **Design.** The first word is the depth: 0 if no thread is inside, n for that many nested reads,
/// ``writing`` for a writer. Only the thread that holds the lock uses it, so relaxed order is
/// enough.
public struct NestedReadLock<Base: RecursiveLock>: InPlaceLock, NamedLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline static var writing: UInt32 { .max }

    @usableFromInline let base: Base
    @usableFromInline let memory: LockMemory

    /// Makes the lock and the recursive one below it.
    @inlinable public init(in memory: LockMemory) {
        _ = Base.recursiveLockPromise
        base = Base()
        self.memory = memory
    }

    /// The kind of the lock below.
    public static var kind: StrategyKind { Base.kind }

    /// The summary of the lock below.
    public static var summary: String { Base.summary }

    /// The traits of the lock below, and the owner may read again.
    @inlinable public static var traits: StrategyTraits {
        var traits = Base.traits
        traits.isReentrant = true
        return traits
    }

    /// Enters for writing; stops if the calling thread is inside.
    @inlinable public func lock() {
        base.lock()
        beginWrite()
    }

    /// Enters for writing if that is possible at once; stops if the calling thread is inside.
    @inlinable public func tryLock() -> Bool {
        guard base.tryLock() else { return false }
        beginWrite()
        return true
    }

    /// Ends the write.
    @inlinable public func unlock() {
        memory.first.store(0, ordering: .relaxed)
        base.unlock()
    }

    /// Enters for reading; stops if the calling thread writes.
    @inlinable public func lockShared() {
        base.lock()
        beginRead()
    }

    /// Enters for reading if that is possible at once; stops if the calling thread writes.
    @inlinable public func tryLockShared() -> Bool {
        guard base.tryLock() else { return false }
        beginRead()
        return true
    }

    /// Ends the innermost read.
    @inlinable public func unlockShared() {
        memory.first.store(memory.first.load(ordering: .relaxed) &- 1, ordering: .relaxed)
        base.unlock()
    }

    @inlinable func beginRead() {
        let inside = memory.first.load(ordering: .relaxed)
        if inside == Self.writing {
            Reentry.stop("read", inside: "write", Self.name)
        }
        memory.first.store(inside &+ 1, ordering: .relaxed)
    }

    @inlinable func beginWrite() {
        let inside = memory.first.load(ordering: .relaxed)
        if inside != 0 {
            Reentry.stop("write", inside: inside == Self.writing ? "write" : "read", Self.name)
        }
        memory.first.store(Self.writing, ordering: .relaxed)
    }
}

extension NestedReadLock: TimedLock where Base: TimedRecursiveLock {
    /// The promise.
    @inlinable public static var timedLockPromise: Promise<Self> { unsafe .unchecked() }

    /// Enters for writing, unless the deadline passes first; stops if the calling thread is inside.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        _ = Base.timedRecursiveLockPromise
        guard base.lock(before: deadline) else { return false }
        beginWrite()
        return true
    }

    /// Enters for reading, unless the deadline passes first; stops if the calling thread writes.
    public func lockShared(before deadline: ContinuousClock.Instant) -> Bool {
        _ = Base.timedRecursiveLockPromise
        guard base.lock(before: deadline) else { return false }
        beginRead()
        return true
    }
}
