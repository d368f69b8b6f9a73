/// `adaptive`: our own lock: waiters poll for a bounded time, then sleep.
///
/// See ``AdaptiveLock``.
///
/// Entering again on the same thread hangs.
///
/// - *Guarantees:* a waiter sleeps after a bounded time; it burns no processor for long.
/// - *Use it when* sections are short and threads meet; it is the one to beat.
/// - *Not when* a waiting thread has to be sure of its turn.
/// - *Trap:* it barges. The thread that just let go may take it again, and with nothing to do
///   outside one thread can keep it for a whole time slice: hardly any hand-offs, and a `wait max`
///   of tens of milliseconds.
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
}
