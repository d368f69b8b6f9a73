/// `serial-queue`: a private serial queue, `sync` for reads and writes.
///
/// Entering again on the same thread traps in Dispatch.
///
/// - *Guarantees:* accesses enter in the order in which they asked.
/// - *Use it when* the section is long, callers are few, and the order of arrival matters.
/// - *Not when* sections are short and threads contend: each hand-over is a context switch.
/// - *Trap:* with two threads it is more than ten times slower than with one, where it is nearly as
///   fast as a lock. One queue for each property starts hundreds of threads: use stripes.
///
/// ```sh
/// latchkey compare --strategies serial-queue,lock --threads 1,2
/// ```
public typealias SerialQueueStrategy = QueueStrategy<SerialQueue>

/// What ``SerialQueueStrategy`` is.
public enum SerialQueue: QueueStyle {
    /// `serial-queue`.
    public static let name = StrategyKind.serialQueue.rawValue

    /// The strategy in one sentence.
    public static let summary = "A private serial dispatch queue with synchronous reads and writes."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(handsOffFairly: true, comesWithPlatform: true)
    }
}
