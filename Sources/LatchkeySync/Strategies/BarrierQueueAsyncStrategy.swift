public import Dispatch

/// `barrier-queue-async`: a private concurrent queue, `sync` for reads, `async(flags: .barrier)`
/// for writes.
///
/// **Design.** A submitted write is accepted at once and applied later, in the order of submission,
/// on a thread of Latchkey's. Its completion runs on another queue, so it may enter the value
/// again, and completions come in the order in which the writes were applied. The blocking `write`
/// is the synchronous form and takes its place behind what was submitted before.
///
/// Blocking doors must not be entered again on the same thread: that traps or hangs in Dispatch.
/// Submitting a write from inside is fine.
///
/// - *Guarantees:* those of `barrier-queue`, and a bounded backlog.
/// - *Use it when* reads are long and shared, writes are rare, and writers must not block.
/// - *Not when* you hope for speed: it pays for the submission and for the barrier.
/// - *Trap:* it is recommended for caches. In that situation a plain lock does many times as much.
///
/// ```sh
/// latchkey compare --preset cache --strategies barrier-queue-async,lock,snapshot --threads 2
/// ```
public struct BarrierQueueAsyncStrategy: NamedStrategy, BlockingStrategy {
    public static let kind = StrategyKind.barrierQueueAsync
    public static let summary =
        "A private concurrent dispatch queue with synchronous reads and asynchronous barriers."
    public static let traits = StrategyTraits(
        allowsConcurrentReaders: true,
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
        queue = GuardQueue(.barrierQueueAsync, isConcurrent: true)
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
