internal import CLatchkeySystem
internal import Synchronization

#if os(Linux)
// Waiting with a deadline, and waiting for a change.
//
// **Design.** Waiting for the lock itself with a deadline is the slow path of `lock()` with a
// bounded sleep. A thread gives up only after it found the lock held and marked the word
// `contended`. So the holder wakes another sleeper also if it had chosen the one that gave up.
//
// The second word is what threads sleep on that wait for a change. Only the holder of the lock
// writes it, so relaxed order is enough.
//
// | bits  | meaning              | becomes                                                    |
// |-------|----------------------|------------------------------------------------------------|
// | 0     | somebody may wait    | 1, by a holder that lets go to wait;                       |
// |       |                      | 0, by the next holder that lets go after a write           |
// | 1–31  | count of wake-ups    | one more, at the same moment                               |
//
// A waiter sleeps only while the word is what it wrote before it let go. A write that comes in
// between changes the word, and the kernel then refuses to let the waiter sleep: no wake-up is
// lost. (Unless exactly 2^31 wake-ups come in between.) All waiters are woken, because each may
// wait for something else. While nobody waits, a write pays one look at a word beside the lock's.

extension AdaptiveLock: ConditionLock {
    @usableFromInline static var isAwaited: UInt32 { 1 }

    /// Waits until the calling thread holds the lock, or until the deadline.
    @inlinable
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        tryLock() || lockSlowly(before: deadline)
    }

    /// Lets go, and waits until another thread has let go after a write.
    public func unlockAndAwaitChange(before deadline: ContinuousClock.Instant?) {
        let awaited = memory.second.load(ordering: .relaxed) | Self.isAwaited
        memory.second.store(awaited, ordering: .relaxed)
        unlockUnchanged()
        sleep(on: memory.second, while: awaited, before: deadline)
    }

    @usableFromInline
    func lockSlowly(before deadline: ContinuousClock.Instant) -> Bool {
        if polls() {
            return true
        }
        while memory.first.exchange(Self.contended, ordering: .acquiring) != Self.unlocked {
            if deadline <= .now {
                return false
            }
            sleep(on: memory.first, while: Self.contended, before: deadline)
            if asks(toTakeAs: Self.contended) {
                return true
            }
        }
        return true
    }

    /// Lets go after a write that somebody waits for.
    @usableFromInline
    func unlockChanged() {
        // The bit is 1: this clears it and counts.
        let count = memory.second.load(ordering: .relaxed) &+ Self.isAwaited
        memory.second.store(count, ordering: .relaxed)
        unlockUnchanged()
        // SAFETY: the kernel uses the address as a key and does not follow it.
        unsafe withUnsafePointer(to: memory.second) { word in
            unsafe latchkey_system_futex_wake(UnsafeMutableRawPointer(mutating: word), .max)
        }
    }

    /// Sleeps at most until the deadline; can return early.
    private func sleep(
        on word: borrowing Atomic<UInt32>,
        while value: UInt32,
        before deadline: ContinuousClock.Instant?
    ) {
        // SAFETY: the word is in an object, which the lock keeps.
        unsafe withUnsafePointer(to: word) { word in
            let address = unsafe UnsafeMutableRawPointer(mutating: word)
            if let deadline {
                unsafe latchkey_system_futex_wait_for(address, value, deadline.nanosecondsLeft)
            } else {
                unsafe latchkey_system_futex_wait(address, value)
            }
        }
    }
}
#endif
