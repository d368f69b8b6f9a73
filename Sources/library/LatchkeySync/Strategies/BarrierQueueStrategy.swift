/// `barrier-queue`: a private concurrent queue, `sync` for reads, `sync(flags: .barrier)` for
/// writes.
///
/// Re-entry traps or hangs; a read inside a read only while a barrier waits, so that a test without
/// contention misses it.
///
/// - *Guarantees:* readers share; later readers wait for a writer.
/// - *Use when* reads are long and writes are rare.
/// - *Not when* sections are short: two readers then do less than two threads under `lock`.
///
/// ```sh
/// latchkey compare --strategies barrier-queue,lock --threads 1,2 --read-ratio 1
/// ```
public typealias BarrierQueueStrategy = QueueStrategy<BarrierQueue>

/// The style of ``BarrierQueueStrategy``.
public enum BarrierQueue: QueueStyle {
    /// `barrier-queue`.
    public static let name = StrategyKind.barrierQueue.rawValue

    /// The strategy in one sentence.
    public static let summary =
        "A private concurrent dispatch queue with synchronous reads and barrier writes."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(
            allowsConcurrentReaders: true,
            handsOffFairly: true,
            comesWithPlatform: true
        )
    }
}
