#if os(Linux)
internal import CLatchkeySystem
internal import Synchronization

// The sleep of a waiter that has polled without success, and its way in.
//
// **Design.** A holder wakes a sleeper after it has released the lock, and can take the lock again
// before the sleeper runs. Where holders stay inside for longer than a sleeper asks, a sleeper
// could be woken for nothing without end. So a thread that was woken, and has waited for a
// millisecond, makes the word `starving`. The holder then grants the lock: it stays closed to all
// that have not slept. The kernel wakes the first thread of its queue, and a thread that was woken
// for nothing goes to the end of it: so the wait can take one release for each sleeper. Go and
// parking_lot limit waits in a similar way.
//
// The holder releases the lock with an exchange and grants it afterwards. Between the two, a
// running thread can take the lock, and a thread that goes to sleep for the first time can take the
// grant. Then the mark is made again.
//
// A grant is never lost: it is taken by any thread that has slept, also by one whose deadline has
// passed, and the holder takes it back if it woke none. Marks can be lost, when two threads change
// the word at once; the thread that made it is woken as before, and makes it again.

extension AdaptiveLock {
    /// How long a thread waits before it asks to be handed the lock.
    static let starvingNanoseconds: UInt64 = 1_000_000

    /// Sleeps until the calling thread holds the lock, or until the deadline if there is one.
    ///
    /// From here on the word says that a thread may sleep, also when this thread gets the lock.
    @discardableResult func sleeps(
        before deadline: ContinuousClock.Instant?,
        starvingAfter nanoseconds: UInt64 = Self.starvingNanoseconds
    ) -> Bool {
        let start = latchkey_system_nanoseconds()
        var hasSlept = false
        while true {
            var expected = memory.first.load(ordering: .relaxed)
            if hasSlept || expected != Self.granted {
                let isStarving =
                    expected == Self.starving
                    || hasSlept && latchkey_system_nanoseconds() - start >= nanoseconds
                expected = isStarving ? Self.starving : Self.contended
                let word = memory.first.exchange(expected, ordering: .acquiring)
                if word == Self.unlocked || word == Self.granted { return true }
                if let deadline, deadline <= .now { return false }
            }
            // SAFETY: the word is in an object, which the lock keeps.
            unsafe withUnsafePointer(to: memory.first) { word in
                let word = unsafe UnsafeMutableRawPointer(mutating: word)
                if let deadline {
                    unsafe latchkey_system_futex_wait_for(word, expected, deadline.nanosecondsLeft)
                } else {
                    unsafe latchkey_system_futex_wait(word, expected)
                }
            }
            hasSlept = true
            if asks(toTakeAs: Self.contended) { return true }
        }
    }

    /// Lets another thread in, by what the word was before it became `unlocked`.
    @usableFromInline func letIn(_ word: UInt32) {
        switch word {
        case Self.wanted: giveWay()
        case Self.starving: handOver()
        default: wakeOne()
        }
    }

    /// Keeps the lock for those that have slept, and wakes one.
    ///
    /// A running thread may have taken it meanwhile: then it was faster.
    private func handOver() {
        let isGranted = replace(Self.unlocked, by: Self.granted)
        guard wakeOne() == 0, isGranted, replace(Self.granted, by: Self.unlocked) else { return }
        // One may have gone to sleep because of the grant.
        wakeOne()
    }

    /// Relaxed: it continues the release sequence of the holder's exchange, which the next one
    /// acquires.
    private func replace(_ old: UInt32, by new: UInt32) -> Bool {
        memory.first.compareExchange(expected: old, desired: new, ordering: .relaxed).exchanged
    }

    /// Wakes one thread; returns how many it woke.
    @discardableResult private func wakeOne() -> Int {
        // SAFETY: the kernel uses the address as a key and does not follow it.
        unsafe withUnsafePointer(to: memory.first) { word in
            unsafe latchkey_system_futex_wake(UnsafeMutableRawPointer(mutating: word), 1)
        }
    }
}
#endif
