internal import CLatchkeySystem
internal import Glibc
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
/// | `false` | free                   | a taker, to `true`, by an exchange  |
/// | `true`  | held                   | the holder, to `false`, by a store  |
public final class SpinLock: RawLock {
    /// How often a waiter looks before it yields: about a microsecond, a few times the length of
    /// the sections that a spin lock is for.
    static let roundsMax = 64

    @usableFromInline let isHeld = Atomic<Bool>(false)

    /// Makes a lock that is free.
    @inlinable public init() {}

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
        !isHeld.exchange(true, ordering: .acquiring)
    }

    /// Lets go.
    @inlinable
    public func unlock() {
        isHeld.store(false, ordering: .releasing)
    }

    @usableFromInline
    func lockSlowly() {
        var rounds = 0
        repeat {
            while isHeld.load(ordering: .relaxed) {
                rounds += 1
                if rounds < Self.roundsMax {
                    latchkey_system_pause()
                } else {
                    rounds = 0
                    sched_yield()
                }
            }
        } while !tryLock()
    }
}
