/// `barrier-queue`: a private concurrent queue, `sync` for reads, `sync(flags: .barrier)` for
/// writes.
///
/// Entering again on the same thread traps or hangs: reading inside a read hangs only while a
/// barrier waits, which is worse, because it passes every quiet test.
public struct BarrierQueueStrategy: NamedStrategy, BlockingStrategy {
    public static let kind = StrategyKind.barrierQueue
    public static let traits = StrategyTraits(allowsConcurrentReaders: true, handsOffFairly: true)

    @usableFromInline let queue: GuardQueue

    @inlinable public init() { queue = GuardQueue(.barrierQueue, isConcurrent: true) }

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
