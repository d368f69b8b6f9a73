#if os(Linux)
internal import CLatchkeySystem
internal import Synchronization

// The part of a wait before the waiter sleeps.
//
// **Design.** A wake-up is a system call of the holder, between two sections. Where sections last
// microseconds, a lock whose waiters sleep does half as much. So a waiter first looks at the word
// for some times as long as sleeping and waking cost. Each look takes the cache line from the
// holder, so that the looks become rarer: at 25 ns, and then each at five times the time of the one
// before.
//
// A holder that comes back at once leaves the lock free for some nanoseconds, which no look finds.
// So the waiter then asks: it makes the word `wanted`. When the holder releases the lock, it does
// not come back before the lock was taken, or for a microsecond. So the lock goes from one running
// thread to another without a system call, at most once in the time of polling.
//
// To all other threads `wanted` means `locked`, so that no wake-up can be lost: it replaces only
// `locked`, and a thread that goes to sleep writes `contended` over it.
//
// One new waiter asks. Where the word says that somebody asks or sleeps already, there are more
// waiters than one, and the next one sleeps. A sleeper asks when it was woken. And sometimes a
// waiter sleeps instead of asking: where threads outnumber the processors, a woken thread needs a
// processor, and two threads that hand the lock to each other would keep the processors for whole
// time slices.

extension AdaptiveLock {
    /// How long a waiter polls and asks before it sleeps.
    ///
    /// `docs/decisions/0011-the-adaptive-lock.md` says how the limits were found.
    struct Polling {
        /// The time of the last look.
        ///
        /// On one processor there is none: the holder cannot run meanwhile.
        var nanosecondsMax: UInt64

        /// How long it then asks.
        var askingNanosecondsMax: UInt64

        /// The time of the first look.
        static let firstNanoseconds: UInt64 = 25
        /// The time of a look, divided by the time of the look before.
        static let factor: UInt64 = 5
        /// How often a thread that asks pauses between two looks.
        static let askingPauses = 8
        /// N, if one waiter in N sleeps instead of asking.
        ///
        /// A power of two.
        static let sleepersShare: UInt64 = 16
        /// How long a holder that was asked stays away.
        static let awayNanosecondsMax: UInt64 = 1_000

        init(processors: Int) {
            nanosecondsMax = processors > 1 ? 15_625 : 0
            askingNanosecondsMax = processors > 1 ? 10_000 : 0
        }

        /// Whether a waiter that could ask at this time does.
        ///
        /// The last digits of the time are as good as a random number here.
        static func asks(at nanoseconds: UInt64) -> Bool {
            nanoseconds / 64 & (sleepersShare - 1) != 0
        }
    }

    /// By the processors that the process may use when a thread waits for the first time.
    static let polling = Polling(processors: Int(latchkey_system_processors()))

    /// Looks at the word for a while, and then asks; true if the calling thread got the lock.
    func polls(_ polling: Polling = Self.polling) -> Bool {
        let start = latchkey_system_nanoseconds()
        var time = Polling.firstNanoseconds
        while time <= polling.nanosecondsMax {
            while latchkey_system_nanoseconds() - start < time {
                latchkey_system_pause()
            }
            if memory.first.load(ordering: .relaxed) == Self.unlocked && tryLock() { return true }
            time *= Polling.factor
        }
        return memory.first.load(ordering: .relaxed) <= Self.locked
            && Polling.asks(at: latchkey_system_nanoseconds())
            && asks(toTakeAs: Self.locked, polling)
    }

    /// Asks the holder not to come back before the calling thread had the lock; true if it got it.
    ///
    /// The word then is `taken`, which is `contended` if the calling thread has slept. Ends as soon
    /// as another thread sleeps: the holder will wake that one.
    func asks(toTakeAs taken: UInt32, _ polling: Polling = Self.polling) -> Bool {
        guard polling.askingNanosecondsMax > 0 else { return false }
        let end = latchkey_system_nanoseconds() + polling.askingNanosecondsMax
        repeat {
            let word = memory.first.load(ordering: .relaxed)
            if word == Self.unlocked {
                if take(as: taken) { return true }
                continue
            }
            if word == Self.contended || word > Self.wanted { return false }
            if word == Self.locked {
                // Relaxed: it orders nothing.
                _ = memory.first.compareExchange(
                    expected: Self.locked,
                    desired: Self.wanted,
                    ordering: .relaxed
                )
            }
            for _ in 0..<Polling.askingPauses {
                latchkey_system_pause()
            }
        } while latchkey_system_nanoseconds() < end
        return false
    }

    /// Stays away for a moment, so that the thread that has asked can take the lock.
    func giveWay() {
        let end = latchkey_system_nanoseconds() + Polling.awayNanosecondsMax
        while memory.first.load(ordering: .relaxed) == Self.unlocked,
            latchkey_system_nanoseconds() < end
        {
            latchkey_system_pause()
        }
    }

    /// Acquiring: pairs with the releasing exchange of ``unlock()``.
    private func take(as taken: UInt32) -> Bool {
        memory.first.compareExchange(
            expected: Self.unlocked,
            desired: taken,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }
}
#endif
