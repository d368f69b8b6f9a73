public import Dispatch
public import Synchronization

/// A private dispatch queue as a guard, and the count of who is on it.
///
/// **Design.** The queue is always private: a barrier on a queue that is not private, or was not
/// made concurrent, is no barrier. `sync` runs the body on the caller's thread; ``PrivateQueue``
/// says on which threads the rest runs.
///
/// A queue cannot be tried. For an observer that wants to know, entrants count themselves: low
/// half readers, high half writers. Only accesses with an active observer are counted.
@usableFromInline
struct GuardQueue: Sendable {
    @usableFromInline let queue: DispatchQueue
    @usableFromInline let isConcurrent: Bool
    @usableFromInline let entrants = Entrants()

    @usableFromInline
    init(_ kind: StrategyKind, isConcurrent: Bool) {
        queue = PrivateQueue.make(label: "latchkey.\(kind.rawValue)", isConcurrent: isConcurrent)
        self.isConcurrent = isConcurrent
    }

    /// Submits `body` and waits for it.
    @inlinable
    func run<Observer: EntryObserver, Result, Failure: Error>(
        _ observer: Observer,
        _ mode: AccessMode,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var entry = observer.asks(mode)
        if Observer.isActive && !entrants.join(mode, isConcurrent: isConcurrent) {
            observer.isBlocked(&entry)
        }
        // `sync` knows no typed errors, so the outcome leaves through a variable.
        var outcome: Swift.Result<Result, Failure>?
        sync(mode) {
            observer.enters(&entry)
            outcome = Swift.Result(catching: body)
            observer.leaves(entry)
            if Observer.isActive {
                entrants.leave(mode)
            }
        }
        guard let outcome else {
            preconditionFailure("DispatchQueue.sync returned before its body ran.")
        }
        return try outcome.get()
    }

    /// Takes the closure as a parameter: one that does not escape is not allocated.
    @inlinable
    @inline(__always)
    func sync(_ mode: AccessMode, _ inside: () -> Void) {
        if isConcurrent && mode == .write {
            queue.sync(flags: .barrier, execute: inside)
        } else {
            queue.sync(execute: inside)
        }
    }

    /// Enters, and keeps the queue until ``release(_:_:)``: nobody else goes in.
    ///
    /// A block on the queue suspends it. After the block has returned, nothing begins, so what was
    /// excluded stays excluded without a frame on the stack and without a thread that waits.
    @inlinable
    func hold<Observer: EntryObserver>(_ observer: Observer) -> Observer.Entry {
        var entry = observer.asks(.read)
        if Observer.isActive && !entrants.join(.read, isConcurrent: isConcurrent) {
            observer.isBlocked(&entry)
        }
        sync(.read) { queue.suspend() }
        observer.enters(&entry)
        return entry
    }

    @inlinable
    func release<Observer: EntryObserver>(_ observer: Observer, _ entry: Observer.Entry) {
        observer.leaves(entry)
        if Observer.isActive {
            entrants.leave(.read)
        }
        queue.resume()
    }

    /// Submits `body` for writing and returns; `then` is called after it has left the section.
    @inlinable
    func submit<Observer: EntryObserver, Result>(
        _ observer: Observer,
        _ body: @escaping @Sendable () -> Result,
        then: @escaping @Sendable (Result) -> Void
    ) {
        var entry = observer.asks(.write)
        if Observer.isActive && !entrants.join(.write, isConcurrent: isConcurrent) {
            observer.isBlocked(&entry)
        }
        let inside = { @Sendable [entry, entrants] in
            var entry = entry
            observer.enters(&entry)
            let result = body()
            observer.leaves(entry)
            if Observer.isActive {
                entrants.leave(.write)
            }
            then(result)
        }
        queue.async(flags: isConcurrent ? .barrier : [], execute: inside)
    }
}

/// How many readers and writers are on a queue, inside or ahead.
@usableFromInline
final class Entrants: Sendable {
    @usableFromInline static var reader: UInt64 { 1 }
    @usableFromInline static var writer: UInt64 { 1 << 32 }

    @usableFromInline let count = Atomic<UInt64>(0)

    @inlinable init() {}

    /// Counts the caller; false if somebody is there whom it has to wait for.
    ///
    /// Relaxed, here and below: a statistic, which orders nothing.
    @inlinable
    func join(_ mode: AccessMode, isConcurrent: Bool) -> Bool {
        let one = mode == .read ? Self.reader : Self.writer
        let before = count.add(one, ordering: .relaxed).oldValue
        return mode == .read && isConcurrent ? before < Self.writer : before == 0
    }

    @inlinable
    func leave(_ mode: AccessMode) {
        count.subtract(mode == .read ? Self.reader : Self.writer, ordering: .relaxed)
    }
}
