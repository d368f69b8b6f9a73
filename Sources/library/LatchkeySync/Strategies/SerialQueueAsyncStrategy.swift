/// `serial-queue-async`: a private serial queue, `sync` for reads, `async` for writes.
///
/// Re-entry traps or hangs; submitting a write from inside is fine.
///
/// - *Guarantees:* order of arrival; an accepted write is applied, one beyond `--backlog` refused.
/// - *Use when* writers must not block, and readers can wait for earlier writes.
/// - *Not when* reads must be quick.
/// - *Cost:* more than any lock, even on one thread.
///
/// ```sh
/// latchkey compare --strategies serial-queue-async,serial-queue,lock --threads 1
/// ```
public typealias SerialQueueAsyncStrategy = QueueStrategy<SerialQueueAsync>

/// The style of ``SerialQueueAsyncStrategy``.
public enum SerialQueueAsync: QueueStyle {
    /// `serial-queue-async`.
    public static let name = StrategyKind.serialQueueAsync.rawValue

    /// The strategy in one sentence.
    public static let summary =
        "A private serial dispatch queue with synchronous reads and asynchronous writes."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(
            appliesWritesAsynchronously: true,
            handsOffFairly: true,
            comesWithPlatform: true
        )
    }
}
