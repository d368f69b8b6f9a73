/// `barrier-queue-async`: a private concurrent queue, `sync` for reads, `async(flags: .barrier)`
/// for writes.
///
/// Entering again on the same thread traps or hangs in Dispatch. Submitting a write from inside is
/// fine.
///
/// - *Guarantees:* those of `barrier-queue`, and a bounded backlog.
/// - *Use it when* reads are long and shared, writes are rare, and writers must not block.
/// - *Not when* throughput matters: a write costs a submission and a barrier.
/// - *Trap:* it is often recommended for caches. A plain lock has many times its throughput there.
///
/// ```sh
/// latchkey compare --preset cache --strategies barrier-queue-async,lock,snapshot --threads 2
/// ```
public typealias BarrierQueueAsyncStrategy = QueueStrategy<BarrierQueueAsync>

/// What ``BarrierQueueAsyncStrategy`` is.
public enum BarrierQueueAsync: QueueStyle {
    /// `barrier-queue-async`.
    public static let name = StrategyKind.barrierQueueAsync.rawValue

    /// The strategy in one sentence.
    public static let summary =
        "A private concurrent dispatch queue with synchronous reads and asynchronous barriers."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(
            allowsConcurrentReaders: true,
            appliesWritesAsynchronously: true,
            handsOffFairly: true,
            comesWithPlatform: true
        )
    }
}
