public import Synchronization

/// A strategy that is one recursive raw lock: the thread that is inside may read again.
///
/// The lock lets its owner in at any time, but a value that is being written must not be entered
/// a second time by anybody, also not by its writer: that would be two overlapping accesses to one
/// variable, which is undefined. So the strategy counts, in every build, and stops.
public protocol ReentrantLockStrategy: ExclusiveLockStrategy {
    var nesting: Nesting { get }
}

/// Who is inside a recursive lock: 0 nobody, n > 0 that many nested reads, -1 a writer.
///
/// **Design.** Only the thread that holds the lock touches the word. It is atomic, with relaxed
/// order, only because that spares the check that Swift makes at each use of a class's variable.
public final class Nesting: Sendable {
    @usableFromInline let depth = Atomic<Int>(0)

    @inlinable public init() {}

    @inlinable
    func beginRead(_ name: @autoclosure () -> String) {
        let inside = depth.load(ordering: .relaxed)
        if inside < 0 {
            Reentry.stop(.read, inside: .write, name())
        }
        depth.store(inside &+ 1, ordering: .relaxed)
    }

    @inlinable
    func endRead() {
        depth.store(depth.load(ordering: .relaxed) &- 1, ordering: .relaxed)
    }

    @inlinable
    func beginWrite(_ name: @autoclosure () -> String) {
        let inside = depth.load(ordering: .relaxed)
        if inside != 0 {
            Reentry.stop(.write, inside: inside < 0 ? .write : .read, name())
        }
        depth.store(-1, ordering: .relaxed)
    }

    @inlinable
    func endWrite() {
        depth.store(0, ordering: .relaxed)
    }
}

extension ReentrantLockStrategy {
    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = enter(observer, .read)
        nesting.beginRead(Self.name)
        defer {
            nesting.endRead()
            leave(observer, entry)
        }
        return try unsafe cell.place.pointee.read(body)
    }

    @inlinable
    public func holdWriters<Observer: EntryObserver>(observer: Observer) -> WriterRelease {
        let entry = enter(observer, .read)
        nesting.beginRead(Self.name)
        return {
            nesting.endRead()
            leave(observer, entry)
        }
    }

    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = enter(observer, .write)
        nesting.beginWrite(Self.name)
        defer {
            nesting.endWrite()
            leave(observer, entry)
        }
        return try unsafe cell.place.pointee.write(body)
    }

    @inlinable
    public func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: Cell<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let entry = tryEnter(observer, .write) else {
            return nil
        }
        nesting.beginWrite(Self.name)
        defer {
            nesting.endWrite()
            leave(observer, entry)
        }
        return try unsafe cell.place.pointee.write(body)
    }
}
