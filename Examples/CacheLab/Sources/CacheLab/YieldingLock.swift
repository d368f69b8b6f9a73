import Glibc
import LatchkeyLab
import Synchronization

/// A custom lock: a word, and waiters that give up their processor.
final class YieldingLock: RawLock {
    static var rawLockPromise: Promise<YieldingLock> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits(spins: true) }

    private let isHeld = Atomic<Bool>(false)

    func lock() {
        while !tryLock() {
            sched_yield()
        }
    }

    func tryLock() -> Bool {
        !isHeld.load(ordering: .relaxed) && !isHeld.exchange(true, ordering: .acquiring)
    }

    func unlock() {
        isHeld.store(false, ordering: .releasing)
    }
}
