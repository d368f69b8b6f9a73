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
/// - *Usually* a running waiter that polled in vain asks for the lock, and the holder, when it lets
///   go, does not come back for a microsecond, so that it goes first.
/// - *Trap:* a running thread can overtake sleeping ones, and ones that wait for a processor.
///   Where threads outnumber the processors, the report shows a `wait max` of milliseconds.
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
