internal import CLatchkeySystem
public import Synchronization

/// A lock that spins for a bounded time and then sleeps: one word, three states.
///
/// **Design.** The word is also what the kernel sleeps on (futex(2)).
///
/// | word        | meaning                  | becomes                                          |
/// |-------------|--------------------------|--------------------------------------------------|
/// | `unlocked`  | free                     | `locked`, by a thread that takes it at once or   |
/// |             |                          | spinning; `contended`, by one that has slept     |
/// | `locked`    | held, no thread sleeps   | `unlocked`, by the holder;                       |
/// |             |                          | `contended`, by a thread that goes to sleep      |
/// | `contended` | held, some may be asleep | `unlocked`, by the holder, which then wakes one  |
///
/// A thread that has slept takes the lock as `contended`, since others may still sleep: one wake-up
/// too many is possible, a lost one is not. The holder wakes a sleeper *after* it let go, and a
/// running thread may take the lock first. This keeps the lock on processors that are awake. The
/// price is fairness.
public final class AdaptiveLock: RawLock {
    @usableFromInline static var unlocked: UInt32 { 0 }
    @usableFromInline static var locked: UInt32 { 1 }
    @usableFromInline static var contended: UInt32 { 2 }

    /// A waiter looks this often before it sleeps, and pauses 1, 2, 4, … times in between.
    ///
    /// 127 pauses in all: a few microseconds, which is less than sleeping and waking cost.
    /// `docs/decisions/0011-the-adaptive-lock.md` says how that was found.
    static let roundsMax = 7

    @usableFromInline let word = Atomic<UInt32>(0)

    /// Makes a lock that is free.
    @inlinable public init() {}

    /// Waits until the calling thread holds the lock.
    @inlinable
    public func lock() {
        if !tryLock() {
            lockSlowly()
        }
    }

    /// Acquiring: pairs with the releasing exchange of ``unlock()``.
    @inlinable
    public func tryLock() -> Bool {
        word.compareExchange(
            expected: Self.unlocked,
            desired: Self.locked,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }

    /// Lets go.
    @inlinable
    public func unlock() {
        if word.exchange(Self.unlocked, ordering: .releasing) == Self.contended {
            wakeOne()
        }
    }

    @usableFromInline
    func lockSlowly() {
        for round in 0..<Self.roundsMax {
            for _ in 0..<(1 << round) {
                latchkey_system_pause()
            }
            if word.load(ordering: .relaxed) == Self.unlocked && tryLock() {
                return
            }
        }
        // From here on the word says that somebody may sleep, also when this thread gets the lock.
        while word.exchange(Self.contended, ordering: .acquiring) != Self.unlocked {
            // SAFETY: the word lives in this object, which the caller keeps for the call.
            unsafe withUnsafePointer(to: word) { word in
                unsafe latchkey_system_futex_wait(
                    UnsafeMutableRawPointer(mutating: word),
                    Self.contended
                )
            }
        }
    }

    @usableFromInline
    func wakeOne() {
        // SAFETY: the kernel uses the address as a key and does not follow it.
        unsafe withUnsafePointer(to: word) { word in
            unsafe latchkey_system_futex_wake(UnsafeMutableRawPointer(mutating: word), 1)
        }
    }
}
