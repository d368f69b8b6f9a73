import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeySync

/// How the adaptive lock bounds the wait of a thread that is overtaken.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct HandOverTests {
    /// The holder comes back before the sleeper is there, always.
    ///
    ///     holder                   sleeper
    ///     ------                   -------
    ///     locks
    ///                              sleeps
    ///     wakes it, and holds ───▶ finds the lock held, has waited for a millisecond
    ///     unlocks: it is granted
    ///                              holds the lock
    @Test func `a thread with spurious wake-ups for a millisecond is handed the lock, issue 46`() {
        let lock = AdaptiveLock()
        let over = Atomic(false)
        lock.lock()
        let sleeper = TestThread {
            while !over.load(ordering: .relaxed) {
                lock.lock()
                lock.unlock()
            }
        }
        let isGranted = eventually {
            // As a holder that was faster than the thread that it woke.
            lock.letIn(AdaptiveLock.contended)
            guard lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.starving else {
                return false
            }
            lock.unlock()
            if lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.granted { return true }
            // It was not asleep at that moment, or is there already.
            lock.lock()
            return false
        }
        #expect(isGranted)
        over.store(true, ordering: .relaxed)
        #expect(sleeper.join())
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.unlocked)
    }

    @Test func `no thread that has not slept takes a lock that is granted`() {
        let lock = AdaptiveLock()
        var polling = AdaptiveLock.Polling(processors: 2)
        polling.askingNanosecondsMax = .max / 2
        lock.memory.first.store(AdaptiveLock.granted, ordering: .relaxed)
        #expect(!lock.tryLock())
        #expect(!lock.polls(polling))
        #expect(!lock.asks(toTakeAs: AdaptiveLock.locked, polling))
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.granted)
    }

    /// The thread that starved has given up at its deadline.
    @Test func `a lock that no thread waits for any more is free`() {
        let lock = AdaptiveLock()
        lock.memory.first.store(AdaptiveLock.starving, ordering: .relaxed)
        lock.unlock()
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.unlocked)
    }

    @Test func `a thread that starves and gives up leaves the lock to the others`() {
        let lock = AdaptiveLock()
        lock.lock()
        #expect(!lock.sleeps(before: .now))
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.contended)
        // It has waited for longer.
        lock.memory.first.store(AdaptiveLock.starving, ordering: .relaxed)
        let other = TestThread {
            lock.lock()
            lock.unlock()
        }
        lock.unlock()
        #expect(other.join())
        #expect(lock.tryLock())
    }

    /// Those that sleep because of a grant are woken by the one that takes it.
    @Test func `starving threads and others lose no update`() {
        let lock = AdaptiveLock()
        let count = Collected(0)
        let ended = TestThread.run(6) { index in
            for _ in 0..<300 {
                if !lock.tryLock() {
                    lock.sleeps(before: nil, starvingAfter: index.isMultiple(of: 2) ? 0 : .max)
                }
                let seen = count.with { $0 }
                Yield.now()
                count.with { $0 = seen + 1 }
                lock.unlock()
            }
        }
        #expect(ended)
        #expect(count.with { $0 } == 1_800)
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.unlocked)
    }
}
