public import Synchronization

/// A recursive lock whose owner may read again inside a read, and nothing else.
///
/// A recursive lock lets its owner in at any time, but a value that is being written must not be
/// entered a second time by anybody, also not by its writer: that would be two overlapping
/// accesses to one variable, which is undefined. So this one counts, in every build, and stops.
///
/// **Design.** The first word is the depth: 0 if no thread is inside, n for that many nested reads,
/// ``writing`` for a writer. Only the thread that holds the lock uses it, so relaxed order is
/// enough.
public struct NestedReadLock<Base: RawLock>: InPlaceLock {
    @usableFromInline static var writing: UInt32 { .max }

    @usableFromInline let base: Base
    @usableFromInline let memory: LockMemory

    /// Makes the lock and the recursive one below it.
    @inlinable public init(in memory: LockMemory) {
        base = Base()
        self.memory = memory
    }

    /// That of the lock below.
    public static var name: String { Base.name }

    /// That of the lock below.
    public static var summary: String { Base.summary }

    /// Those of the lock below, and the owner may read again.
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

extension NestedReadLock: NamedLock where Base: NamedLock {
    /// That of the lock below.
    public static var kind: StrategyKind { Base.kind }
}

extension NestedReadLock: TimedLock where Base: TimedLock {
    /// Enters for writing, unless the deadline passes first; stops if the calling thread is inside.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        guard base.lock(before: deadline) else { return false }
        beginWrite()
        return true
    }

    /// Enters for reading, unless the deadline passes first; stops if the calling thread writes.
    public func lockShared(before deadline: ContinuousClock.Instant) -> Bool {
        guard base.lock(before: deadline) else { return false }
        beginRead()
        return true
    }
}
