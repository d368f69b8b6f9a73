/// `adaptive`: a futex lock of Latchkey's own.
///
/// Entering again on the same thread hangs.
///
/// It can be tried, waited for until a deadline, and, alone among the strategies, waited in for a
/// condition: that needs Linux.
///
/// - *Guarantees:* a waiter polls for a bounded time and then sleeps.
/// - *Use it when* sections are short and threads contend for them.
/// - *Not when* waiting threads need fairness.
/// - *Trap:* a running thread can overtake waiting ones. If threads do nothing outside the section,
///   one of them can take the lock again and again for a whole time slice. The report then shows
///   few hand-offs and a `wait max` of tens of milliseconds.
///
/// ```sh
/// latchkey compare --strategies adaptive,lock,serial-queue --threads 8 --section 1000 --outside 0
/// ```
public struct AdaptiveStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.adaptive

    /// The strategy in one sentence.
    public static let summary = "A futex lock whose waiters poll for a bounded time and then sleep."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits { StrategyTraits(spins: true) }

    /// The lock.
    public let rawLock: AdaptiveLock

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = AdaptiveLock() }

    /// Makes a strategy whose lock is in the memory of the value.
    @inlinable public init(in memory: LockMemory) { rawLock = AdaptiveLock(in: memory) }
}

#if os(Linux)
extension AdaptiveStrategy: ConditionStrategy {}
#endif
