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
public struct BarrierQueueAsyncStrategy: NamedStrategy, QueueStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.barrierQueueAsync

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

    /// The queue.
    public let queue: AccessQueue

    /// Makes a strategy for one value.
    public init() { self.init(backlogMax: BacklogBound.standard) }

    /// - Parameter backlogMax: How many accepted writes may wait to be applied.
    public init(backlogMax: Int) {
        queue = AccessQueue(label: Self.name, isConcurrent: true, backlogMax: backlogMax)
    }
}
