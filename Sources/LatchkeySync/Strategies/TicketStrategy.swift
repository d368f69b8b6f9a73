/// `ticket`: a spin lock; each thread draws a number and polls until its turn.
///
/// Entering again on the same thread spins for ever.
///
/// - *Guarantees:* first come, first served: no thread enters twice while another one waits.
/// - *Use it when* there are fewer threads than processors, sections last nanoseconds, and each
///   thread has to get its share.
/// - *Not when* threads outnumber processors.
/// - *Trap:* without contention it is as fast as `spin`. With more threads than processors, the
///   thread with the next number often has no processor, and all others wait for it, although the
///   lock is free.
///
/// ```sh
/// latchkey compare --strategies ticket,spin,adaptive --threads 1,2,4,8
/// ```
public struct TicketStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.ticket

    /// The strategy in one sentence.
    public static let summary = "A fair spin lock: threads draw numbers and enter in that order."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(handsOffFairly: true, spins: true, keepsPolling: true)
    }

    /// The lock.
    public let rawLock: TicketLock

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = TicketLock() }

    /// Makes a strategy whose lock is in the memory of the value.
    @inlinable public init(in memory: LockMemory) { rawLock = TicketLock(in: memory) }
}
