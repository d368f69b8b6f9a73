/// `serial-queue-async`: a private serial queue, `sync` for reads, `async` for writes.
///
/// Entering again on the same thread traps or hangs in Dispatch. Submitting a write from inside is
/// fine.
///
/// - *Guarantees:* accesses enter in the order in which they asked; an accepted write is applied;
///   the backlog is bounded.
/// - *Use it when* writers must not block, and readers can wait for the writes before them.
/// - *Not when* reads must be quick: each read waits for the burst of writes before it.
/// - *Trap:* asynchronous is not faster. A submission costs more than any lock even on one thread:
///   a block is allocated and queued, and a worker is woken. A dispatch queue has no bound; here it
///   is `--backlog`, and a write beyond it is refused.
///
/// ```sh
/// latchkey compare --strategies serial-queue-async,serial-queue,lock --threads 1
/// ```
public typealias SerialQueueAsyncStrategy = QueueStrategy<SerialQueueAsync>

/// What ``SerialQueueAsyncStrategy`` is.
public enum SerialQueueAsync: QueueStyle {
    /// `serial-queue-async`.
    public static let name = StrategyKind.serialQueueAsync.rawValue

    /// The strategy in one sentence.
    public static let summary =
        "A private serial dispatch queue with synchronous reads and asynchronous writes."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(
            appliesWritesAsynchronously: true,
            handsOffFairly: true,
            comesWithPlatform: true
        )
    }
}
