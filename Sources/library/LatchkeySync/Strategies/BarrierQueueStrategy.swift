/// `barrier-queue`: a private concurrent queue, `sync` for reads, `sync(flags: .barrier)` for
/// writes.
///
/// Entering again on the same thread traps or hangs. A read inside a read hangs only while a
/// barrier waits, so a test without contention does not find it.
///
/// - *Guarantees:* readers share; a writer waits for the readers before it, and readers after it
///   wait.
/// - *Use it when* reads are long and writes are rare.
/// - *Not when* sections are short.
/// - *Trap:* with short sections, two readers under it have less throughput than two threads that
///   exclude each other under `lock`. A barrier on a *global* queue excludes nothing; the queue
///   here is private.
///
/// ```sh
/// latchkey compare --strategies barrier-queue,lock --threads 1,2 --read-ratio 1
/// ```
public typealias BarrierQueueStrategy = QueueStrategy<BarrierQueue>

/// What ``BarrierQueueStrategy`` is.
public enum BarrierQueue: QueueStyle {
    /// `barrier-queue`.
    public static let name = StrategyKind.barrierQueue.rawValue

    /// The strategy in one sentence.
    public static let summary =
        "A private concurrent dispatch queue with synchronous reads and barrier writes."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(
            allowsConcurrentReaders: true,
            handsOffFairly: true,
            comesWithPlatform: true
        )
    }
}
