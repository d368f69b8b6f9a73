internal import CLatchkeySystem
public import Synchronization

/// A spin lock: test and test-and-set on one word, with a pause, and a yield after a bound.
///
/// **Design.** A waiter reads the word until it looks free and only then writes to it, so that
/// waiting does not take the cache line away from the holder. After ``roundsMax`` looks it gives
/// its time slice to somebody else: with more threads than processors, the holder may be one of
/// those who wait for a processor. It never sleeps, nobody is queued and nobody is preferred.
///
/// | word    | meaning                | who changes it                      |
/// |---------|------------------------|-------------------------------------|
/// | `free`  | free                   | a taker, to `held`, by an exchange  |
/// | `held`  | held                   | the holder, to `free`, by a store   |
public struct SpinLock: InPlaceLock {
    /// How often a waiter looks before it yields: about a microsecond, a few times the length of
    /// the sections that a spin lock is for.
    static let roundsMax = 64

    @usableFromInline static var free: UInt32 { 0 }
    @usableFromInline static var held: UInt32 { 1 }

    @usableFromInline let memory: LockMemory

    /// Makes a lock that is free.
    @inlinable public init(in memory: LockMemory) { self.memory = memory }

    /// Waits until the calling thread holds the lock.
    @inlinable
    public func lock() {
        if !tryLock() {
            lockSlowly()
        }
    }

    /// Acquiring: pairs with the releasing store of ``unlock()``.
    @inlinable
    public func tryLock() -> Bool {
        memory.first.exchange(Self.held, ordering: .acquiring) == Self.free
    }

    /// Lets go.
    @inlinable
    public func unlock() {
        memory.first.store(Self.free, ordering: .releasing)
    }

    @usableFromInline
    func lockSlowly() {
        repeat {
            while !looksFree() {
                latchkey_system_yield()
            }
        } while !tryLock()
    }

    /// Looks for a while.
    private func looksFree() -> Bool {
        for _ in 0..<Self.roundsMax {
            if memory.first.load(ordering: .relaxed) == Self.free {
                return true
            }
            latchkey_system_pause()
        }
        return false
    }
}

extension SpinLock: TimedLock {
    /// Looks at the clock whenever it has looked at the word for a while.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        while !tryLock() {
            while !looksFree() {
                if deadline <= .now {
                    return false
                }
                latchkey_system_yield()
            }
            // Others may take what looks free, again and again.
            if deadline <= .now {
                return tryLock()
            }
        }
        return true
    }
}
