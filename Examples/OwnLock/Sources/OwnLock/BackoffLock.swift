import Foundation
import LatchkeyStrategies
import Synchronization

/// A custom lock: a word that waiters try again after longer and longer pauses.
///
/// Six members make it a `RawLock`. It promises that it excludes, with `unsafe`, because the
/// compiler cannot check that and memory is safe only if it is so.
final class BackoffLock: RawLock {
    static var rawLockPromise: Promise<BackoffLock> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits(spins: true) }

    private let isHeld = Atomic<Bool>(false)

    func lock() {
        var microseconds: UInt32 = 1
        while !tryLock() {
            usleep(microseconds)
            microseconds = min(2 * microseconds, 256)
        }
    }

    func tryLock() -> Bool {
        !isHeld.exchange(true, ordering: .acquiring)
    }

    func unlock() {
        isHeld.store(false, ordering: .releasing)
    }
}

/// The same lock without the exchange: two threads can both find it free.
///
/// The laws say so.
final class BrokenLock: RawLock {
    static var rawLockPromise: Promise<BrokenLock> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    private let isHeld = Atomic<Bool>(false)

    func lock() {
        while !tryLock() {
            sched_yield()
        }
    }

    func tryLock() -> Bool {
        if isHeld.load(ordering: .acquiring) {
            return false
        }
        sched_yield()
        isHeld.store(true, ordering: .relaxed)
        return true
    }

    func unlock() {
        isHeld.store(false, ordering: .releasing)
    }
}
