public import Synchronization

/// A recursive lock whose owner may read again inside a read, and nothing else.
///
/// A recursive lock lets its owner in at any time, but a value that is being written must not be
/// entered a second time by anybody, also not by its writer: that would be two overlapping
/// accesses to one variable, which is undefined. So this one counts, in every build, and stops.
///
/// **Design.** `depth` is 0 if nobody is inside, n > 0 for that many nested reads, -1 for a writer.
/// Only the thread that holds the lock touches it. It is atomic, with relaxed order, only because
/// that spares the check that Swift makes at each use of a class's variable.
public final class NestedReadLock<Base: RawLock>: RawLock {
    @usableFromInline let base: Base
    @usableFromInline let name: String
    @usableFromInline let depth = Atomic<Int>(0)

    /// Makes the lock and the recursive one below it.
    public convenience init() {
        self.init(Base(), name: "\(Base.self)")
    }

    /// - Parameters:
    ///   - base: A recursive lock.
    ///   - name: What messages call the strategy.
    @inlinable
    init(_ base: Base, name: String) {
        self.base = base
        self.name = name
    }

    /// The owner may read again.
    @inlinable public static var traits: StrategyTraits { StrategyTraits(isReentrant: true) }

    /// Enters for writing; stops if the calling thread is inside.
    @inlinable
    public func lock() {
        base.lock()
        beginWrite()
    }

    /// Enters for writing if that is possible at once; stops if the calling thread is inside.
    @inlinable
    public func tryLock() -> Bool {
        guard base.tryLock() else {
            return false
        }
        beginWrite()
        return true
    }

    /// Ends the write.
    @inlinable
    public func unlock() {
        depth.store(0, ordering: .relaxed)
        base.unlock()
    }

    /// Enters for reading; stops if the calling thread writes.
    @inlinable
    public func lockShared() {
        base.lock()
        beginRead()
    }

    /// Enters for reading if that is possible at once; stops if the calling thread writes.
    @inlinable
    public func tryLockShared() -> Bool {
        guard base.tryLock() else {
            return false
        }
        beginRead()
        return true
    }

    /// Ends the innermost read.
    @inlinable
    public func unlockShared() {
        depth.store(depth.load(ordering: .relaxed) &- 1, ordering: .relaxed)
        base.unlock()
    }

    @inlinable
    func beginRead() {
        let inside = depth.load(ordering: .relaxed)
        if inside < 0 {
            Reentry.stop(.read, inside: .write, name)
        }
        depth.store(inside &+ 1, ordering: .relaxed)
    }

    @inlinable
    func beginWrite() {
        let inside = depth.load(ordering: .relaxed)
        if inside != 0 {
            Reentry.stop(.write, inside: inside < 0 ? .write : .read, name)
        }
        depth.store(-1, ordering: .relaxed)
    }
}
