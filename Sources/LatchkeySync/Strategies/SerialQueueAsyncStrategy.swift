public import Dispatch

/// `serial-queue-async`: a private serial queue, `sync` for reads, `async` for writes.
///
/// **Design.** A submitted write is accepted at once and applied later, in the order of submission,
/// on a thread of Latchkey's. Its completion runs on another queue, so it may enter the value
/// again, and completions come in the order in which the writes were applied. The blocking `write`
/// is the synchronous form and takes its place behind what was submitted before.
///
/// Blocking doors must not be entered again on the same thread: that traps or hangs in Dispatch.
/// Submitting a write from inside is fine.
///
/// The caller's thread never waits for a write.
///
/// - *Guarantees:* whoever asks first enters first; a write that was accepted is applied, and the
///   backlog is bounded.
/// - *Use it when* writers must not block, and readers can wait for the writes before them.
/// - *Not when* readers are impatient: a burst of writes is a queue in front of every reader.
/// - *Trap:* asynchronous is not faster. Submitting costs more than any lock even on one thread: a
///   block is allocated, queued, and a worker is woken. And a queue has no bound of its own: a
///   million waiting blocks are hundreds of megabytes. Here the bound is `--backlog`, and beyond it
///   a write is refused.
///
/// ```sh
/// latchkey compare --strategies serial-queue-async,serial-queue,lock --threads 1
/// ```
public struct SerialQueueAsyncStrategy: NamedStrategy, BlockingStrategy {
    public static let kind = StrategyKind.serialQueueAsync
    public static let summary =
        "A private serial dispatch queue with synchronous reads and asynchronous writes."
    public static let traits = StrategyTraits(
        appliesWritesAsynchronously: true,
        handsOffFairly: true
    )

    @usableFromInline let queue: GuardQueue
    @usableFromInline let completions: DispatchQueue
    @usableFromInline let backlog: Backlog

    @inlinable public init() { self.init(backlogMax: BacklogBound.standard) }

    /// - Parameter backlogMax: How many accepted writes may wait to be applied.
    @inlinable
    public init(backlogMax: Int) {
        queue = GuardQueue(.serialQueueAsync, isConcurrent: false)
        completions = Completions.queue()
        backlog = Backlog(max: backlogMax)
    }

    @inlinable public var backlogCount: Int { backlog.count }

    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.run(observer, .read) { () throws(Failure) -> Result in
            try unsafe cell.place.pointee.read(body)
        }
    }

    @inlinable
    public func holdWriters<Observer: EntryObserver>(observer: Observer) -> WriterRelease {
        let entry = queue.hold(observer)
        return { queue.release(observer, entry) }
    }

    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.run(observer, .write) { () throws(Failure) -> Result in
            try unsafe cell.place.pointee.write(body)
        }
    }

    @inlinable
    public func submitWrite<Value, Observer: EntryObserver, Result: Sendable>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try backlog.accept()
        queue.submit(
            observer,
            { unsafe cell.place.pointee.write(body) },
            then: { [completions, backlog] result in
                backlog.applied()
                completions.async { completion(result) }
            }
        )
    }
}
