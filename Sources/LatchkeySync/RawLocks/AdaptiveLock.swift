#if os(Linux)
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
///
/// The second word is for threads that wait for a change of the value, in
/// `AdaptiveLock+Waiting.swift`. Only the holder writes it.
public struct AdaptiveLock: InPlaceLock {
    @usableFromInline static var unlocked: UInt32 { 0 }
    @usableFromInline static var locked: UInt32 { 1 }
    @usableFromInline static var contended: UInt32 { 2 }

    /// How long a waiter looks at the word before it sleeps.
    ///
    /// In between it pauses 4 and 8 times, and then yields its processor: a few microseconds in
    /// all, which is less than sleeping and waking cost.
    /// `docs/decisions/0011-the-adaptive-lock.md` says how that was found.
    struct Polling {
        /// So many looks at most.
        var roundsMax: Int

        /// No further look after this time.
        ///
        /// A yield gives the processor to whoever waits for it. If that is another process, it
        /// keeps it for a time slice, and each further yield could cost one more. Who sleeps is put
        /// on a processor again as soon as the lock is free.
        var nanosecondsMax: UInt64 = 10_000

        /// So many of the first rounds pause.
        static let pausingRounds = 2

        /// On one processor nobody looks: the holder cannot run meanwhile.
        init(processors: Int) { roundsMax = processors > 1 ? 9 : 0 }
    }

    /// By the processors that the process may use when a thread waits for the first time.
    static let polling = Polling(processors: Int(latchkey_system_processors()))

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

    /// Acquiring: pairs with the releasing exchange of ``unlock()``.
    @inlinable
    public func tryLock() -> Bool {
        memory.first.compareExchange(
            expected: Self.unlocked,
            desired: Self.locked,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }

    /// Lets go after a write, and wakes who waits for one.
    @inlinable
    public func unlock() {
        if memory.second.load(ordering: .relaxed) & Self.isAwaited == 0 {
            unlockUnchanged()
        } else {
            unlockChanged()
        }
    }

    /// Lets go after a read, which nobody waits for.
    @inlinable public func unlockShared() { unlockUnchanged() }

    /// Lets go.
    @inlinable
    public func unlockUnchanged() {
        if memory.first.exchange(Self.unlocked, ordering: .releasing) == Self.contended {
            wakeOne()
        }
    }

    /// Looks at the word for a while; true if the calling thread got the lock.
    func spins(_ polling: Polling = Self.polling) -> Bool {
        var end: UInt64 = 0
        for round in 0..<polling.roundsMax {
            var isOver = false
            if round < Polling.pausingRounds {
                for _ in 0..<(4 << round) {
                    latchkey_system_pause()
                }
            } else {
                if end == 0 {
                    end = latchkey_system_nanoseconds() + polling.nanosecondsMax
                }
                // The holder may be one that waits for this processor.
                latchkey_system_yield()
                isOver = latchkey_system_nanoseconds() >= end
            }
            if memory.first.load(ordering: .relaxed) == Self.unlocked && tryLock() {
                return true
            }
            if isOver { break }
        }
        return false
    }

    @usableFromInline
    func lockSlowly() {
        if spins() {
            return
        }
        // From here on the word says that somebody may sleep, also when this thread gets the lock.
        while memory.first.exchange(Self.contended, ordering: .acquiring) != Self.unlocked {
            // SAFETY: the word is in an object, which the lock keeps.
            unsafe withUnsafePointer(to: memory.first) { word in
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
        unsafe withUnsafePointer(to: memory.first) { word in
            unsafe latchkey_system_futex_wake(UnsafeMutableRawPointer(mutating: word), 1)
        }
    }
}
#endif
