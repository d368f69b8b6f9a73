#if os(Linux)
internal import CLatchkeySystem
public import Synchronization

/// A lock whose waiters poll for a bounded time and then sleep: one word, six states.
///
/// **Design.** The word is also what the kernel sleeps on (futex(2)).
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
/// too many is possible, a lost one is not. The holder wakes a sleeper *after* it let go, and a
/// running thread may take the lock first. This keeps the lock on processors that are awake. The
/// price is fairness; asking makes it better, and handing over bounds the wait:
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

    /// Lets go after a write, and wakes who waits for the condition that it fulfilled.
    @inlinable public func unlock() {
        if memory.second.load(ordering: .relaxed) & Self.isAwaited == 0 {
            unlockUnchanged()
        } else {
            unlockChanged()
        }
    }

    /// Lets go after a read, which fulfils no condition.
    @inlinable public func unlockShared() { unlockUnchanged() }

    /// Lets go of the lock alone.
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

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits { StrategyTraits(spins: true) }
}

/// `adaptive`: a futex lock of Latchkey's own.
///
/// Entering again on the same thread hangs. It can be tried, waited for until a deadline, and
/// waited in for a condition: that needs Linux.
///
/// - *Guarantees:* a waiter polls for a bounded time and then sleeps. When one was woken and has
///   waited for a millisecond, releases hand the lock to those that have slept (Linux), in the
///   order of the kernel's queue: it can take one for each sleeper, and more if running threads
///   are faster.
/// - *Use it when* sections are short and threads contend for them.
/// - *Not when* waiting threads need fairness.
/// - *Usually* a running waiter that polled in vain asks for the lock, and the holder, when it lets
///   go, does not come back for a microsecond, so that it goes first.
/// - *Trap:* a running thread can overtake ones that sleep for less than a millisecond, and ones
///   that wait for a processor. Where threads outnumber the processors, the report shows a `wait
///   max` of milliseconds.
///
/// ```sh
/// latchkey compare --strategies adaptive,lock,serial-queue --threads 8 --section 1000 --outside 0
/// ```
public typealias AdaptiveStrategy = RawLockStrategy<AdaptiveLock>
