/// `barrier-queue-async`: a private concurrent queue, `sync` for reads, `async(flags: .barrier)`
/// for writes.
///
/// Re-entry traps or hangs; submitting a write from inside is fine.
///
/// - *Guarantees:* those of `barrier-queue`, and a limited backlog.
/// - *Use when* reads are long and shared, writes are rare, and writers must not block.
/// - *Not when* throughput matters, as in a cache: `lock` has many times as much.
public typealias BarrierQueueAsyncStrategy = QueueStrategy<BarrierQueueAsync>

/// The style of ``BarrierQueueAsyncStrategy``.
public enum BarrierQueueAsync: QueueStyle {
    /// `barrier-queue-async`.
    public static let name = StrategyKind.barrierQueueAsync.rawValue

    /// The strategy in one sentence.
    public static let summary =
        "A private concurrent dispatch queue with synchronous reads and asynchronous barriers."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(
            allowsConcurrentReaders: true,
            appliesWritesAsynchronously: true,
            handsOffFairly: true,
            comesWithPlatform: true
        )
    }
}
