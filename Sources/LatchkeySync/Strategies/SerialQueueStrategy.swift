/// `serial-queue`: a private serial queue, `sync` for reads and writes.
///
/// Entering again on the same thread traps in Dispatch.
public struct SerialQueueStrategy: NamedStrategy, BlockingStrategy {
    public static let kind = StrategyKind.serialQueue
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
