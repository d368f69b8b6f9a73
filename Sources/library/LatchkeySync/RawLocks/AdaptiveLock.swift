#if os(Linux)
internal import CLatchkeySystem
public import Synchronization

/// A lock whose waiters poll for a limited time and then sleep: one word, six states.
///
/// **Design.** Waiters sleep on the word in the kernel (futex(2)).
///
/// | word        | meaning                  | becomes                                          |
/// |-------------|--------------------------|--------------------------------------------------|
/// | `unlocked`  | free                     | `locked`, by a thread that takes it at once or   |
/// |             |                          | polling; `contended`, by one that has slept      |
/// | `locked`    | held, no thread sleeps   | `unlocked`, by the holder; `wanted`, by a thread |
/// |             |                          | that asks for it; `contended`, by one that goes  |
/// |             |                          | to sleep                                         |
/// | `wanted`    | as `locked`, and a       | `unlocked`, by the holder, which then does not   |
/// |             | running thread asks      | take it again at once; `contended`, by a thread  |
/// |             | for it                   | that goes to sleep                               |
/// | `contended` | held, some may be asleep | `unlocked`, by the holder, which then wakes one; |
/// |             |                          | `starving`, by a thread that was woken too often |
/// | `starving`  | as `contended`, and one  | `granted`, by the holder, which then wakes one   |
/// |             | has waited for long      |                                                  |
/// | `granted`   | free for a thread that   | `contended`, by a thread that has slept;         |
/// |             | has slept                | `unlocked`, by the last holder, if none sleeps   |
///
/// A thread that has slept takes the lock as `contended`, since others may still sleep: one wake-up
/// too many is possible, a lost one is not. The holder wakes a sleeper *after* it released the
/// lock, and a running thread may take the lock first. This keeps the lock on processors that are
/// awake. The price is fairness; asking makes it better, and handing over limits the wait:
/// `AdaptiveLock+Polling.swift` and `AdaptiveLock+Sleeping.swift`.
///
/// The second word is for threads that wait for a condition, in `AdaptiveLock+Waiting.swift`. Only
/// the holder writes it.
public struct AdaptiveLock: InPlaceLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline static var unlocked: UInt32 { 0 }
    @usableFromInline static var locked: UInt32 { 1 }
    @usableFromInline static var contended: UInt32 { 2 }
    @usableFromInline static var wanted: UInt32 { 3 }
    @usableFromInline static var starving: UInt32 { 4 }
    @usableFromInline static var granted: UInt32 { 5 }

    @usableFromInline let memory: LockMemory

    /// Makes a lock that is free.
    @inlinable public init(in memory: LockMemory) { self.memory = memory }

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() {
        if !tryLock() {
            lockSlowly()
        }
    }

    /// Acquiring: pairs with the releasing exchange of ``unlock()``.
    @inlinable public func tryLock() -> Bool {
        memory.first.compareExchange(
            expected: Self.unlocked,
            desired: Self.locked,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }

    /// Releases the lock after a write, and wakes the waiters whose condition it fulfilled.
    @inlinable public func unlock() {
        if memory.second.load(ordering: .relaxed) & Self.isAwaited == 0 {
            unlockUnchanged()
        } else {
            unlockChanged()
        }
    }

    /// Releases the lock after a read, which fulfils no condition.
    @inlinable public func unlockShared() { unlockUnchanged() }

    /// Releases the lock, and asks no condition.
    @inlinable func unlockUnchanged() {
        let word = memory.first.exchange(Self.unlocked, ordering: .releasing)
        if word > Self.locked {
            letIn(word)
        }
    }

    @usableFromInline func lockSlowly() {
        if !polls() {
            sleeps(before: nil)
        }
    }
}
#endif

extension AdaptiveLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.adaptive

    /// The strategy in one sentence.
    public static let summary = "A futex lock whose waiters poll for a bounded time and then sleep."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits { StrategyTraits(spins: true) }
}

/// `adaptive`: a futex lock of Latchkey's own; `Guarded` in the library.
///
/// Re-entry hangs. Conditions need Linux.
///
/// - *Guarantees:* a waiter polls for a limited time and then sleeps. Once it was woken and has
///   waited for a millisecond, the lock goes only to threads that have slept (Linux).
/// - *Use when* you begin in a Swift program, and when threads contend for short sections.
/// - *Not when* waiting threads need fairness: running threads overtake others. With more threads
///   than processors, `wait max` is milliseconds.
///
/// ```sh
/// latchkey compare --strategies adaptive,lock,serial-queue --threads 8 --section 1000 --outside 0
/// ```
public typealias AdaptiveStrategy = RawLockStrategy<AdaptiveLock>
