/// `serial-queue`: a private serial queue, `sync` for reads and writes.
///
/// Entering again on the same thread traps in Dispatch.
///
/// - *Guarantees:* whoever asks first enters first.
/// - *Use it when* the section is long, callers are few, and the order of arrival matters.
/// - *Not when* sections are short and threads meet: each hand-over is a context switch.
/// - *Trap:* it is fine until two threads meet. Alone, a queue is nearly as quick as a lock; with
///   two threads it is 11 times slower than with one. `sync` onto the queue that one is on traps,
///   and one queue for each property starts hundreds of threads: use stripes.
///
/// ```sh
/// latchkey compare --strategies serial-queue,lock --threads 1,2
/// ```
public struct SerialQueueStrategy: NamedStrategy, BlockingStrategy {
    public static let kind = StrategyKind.serialQueue
    public static let summary = "A private serial dispatch queue with synchronous reads and writes."
    public static let traits = StrategyTraits(handsOffFairly: true)

    @usableFromInline let queue: GuardQueue

    @inlinable public init() { queue = GuardQueue(.serialQueue, isConcurrent: false) }

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
}
