/// `spin`: an atomic word; waiters poll it with pauses, and call `sched_yield` after a bound.
///
/// Entering again on the same thread spins for ever.
///
/// - *Guarantees:* no system call but `sched_yield`.
/// - *Use it when* there are fewer threads than processors and sections of nanoseconds.
/// - *Not when* threads outnumber processors and sections are long: the holder is preempted, and
///   waiting threads use the processor meanwhile.
/// - *Trap:* it is the fastest in benchmarks of short sections, and starves threads in long ones.
///   Look at Jain's index and `wait max`, not only at the throughput.
///
/// ```sh
/// latchkey compare --strategies spin,adaptive,serial-queue --threads 8 --section 2000 --outside 0
/// ```
public struct SpinStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.spin

    /// The strategy in one sentence.
    public static let summary = "An atomic word that waiters poll, yielding after a bound."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(spins: true, keepsPolling: true)
    }

    /// The lock.
    public let rawLock: SpinLock

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = SpinLock() }

    /// Makes a strategy whose lock is in the memory of the value.
    @inlinable public init(in memory: LockMemory) { rawLock = SpinLock(in: memory) }
}

extension SpinStrategy: TimedStrategy {}
