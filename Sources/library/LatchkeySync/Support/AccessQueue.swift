public import Dispatch
public import Synchronization

/// A private dispatch queue that guards a value, and the number of accesses on it.
///
/// **Design.** The queue is always private, because a barrier has no effect on a global or serial
/// queue. `sync` runs the body on the caller's thread; ``PrivateQueue`` says on which threads the
/// rest runs.
///
/// A queue cannot be tried. For an observer that wants to know, entrants count themselves: low
/// half readers, high half writers. Only accesses with an active observer are counted.
@usableFromInline struct AccessQueue: Sendable {
    @usableFromInline let queue: DispatchQueue
    @usableFromInline let isConcurrent: Bool
    @usableFromInline let entrants = Entrants()

    /// Set for a queue that applies submitted writes later; nil for one that applies them at once.
    @usableFromInline let submissions: Submissions?

    /// - Parameters:
    ///   - label: The name of the queue in debuggers.
    ///   - isConcurrent: Whether readers share the queue.
    ///   - backlogMax: How many submitted writes may wait to be applied; nil if a write is applied
    ///     before the call that submits it returns.
    @usableFromInline init(label: String, isConcurrent: Bool, backlogMax: Int? = nil) {
        queue = PrivateQueue.make(label: "latchkey.\(label)", isConcurrent: isConcurrent)
        self.isConcurrent = isConcurrent
        submissions = backlogMax.map(Submissions.init)
    }

    /// Submits `body` and waits for it.
    @inlinable func run<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        _ observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let mode = request.mode
        var entry = ask(observer, request)
        // `sync` has no typed errors, so the outcome leaves through a variable.
        var outcome: Swift.Result<Result, Failure>?
        sync(mode) {
            observer.enters(&entry)
            do throws(Failure) {
                outcome = .success(try body())
            } catch {
                outcome = .failure(error)
            }
            leave(observer, mode, entry)
        }
        switch outcome.take() {
        case .success(let result): return result
        case .failure(let error): throw error
        case nil: preconditionFailure("DispatchQueue.sync returned before its body ran.")
        }
    }

    /// Takes the closure as a parameter: one that does not escape is not allocated.
    @inlinable @inline(__always) func sync(_ mode: AccessMode, _ inside: () -> Void) {
        if isBarrier(mode) {
            queue.sync(flags: .barrier, execute: inside)
        } else {
            queue.sync(execute: inside)
        }
    }

    @inlinable @inline(__always) func isBarrier(_ mode: AccessMode) -> Bool {
        isConcurrent && mode == .write
    }

    /// Submits a body for writing and returns; its completion runs after it has left the section.
    @inlinable func submit<Observer: EntryObserver, Result>(
        _ request: AccessRequest,
        _ observer: Observer,
        _ submissions: Submissions,
        _ submitted: SubmittedBody<Observer, Result>
    ) {
        let entry = ask(observer, request)
        let inside = { @Sendable [self] in
            submitted.run { observer, body in
                var entry = entry
                observer.enters(&entry)
                body()
                leave(observer, .write, entry)
            }
            submissions.backlog.leave(.write)
            submissions.completions.async { submitted.complete() }
        }
        queue.async(flags: isConcurrent ? .barrier : [], execute: inside)
    }
}

extension AccessQueue {
    /// Counts the caller and tells the observer whether it has to wait.
    @inlinable @inline(__always) func ask<Observer: EntryObserver>(
        _ observer: Observer,
        _ request: AccessRequest
    ) -> Observer.Entry {
        var entry = observer.asks(request)
        if Observer.isActive && !entrants.join(request.mode, isConcurrent: isConcurrent) {
            observer.isBlocked(&entry)
        }
        return entry
    }

    /// Tells the observer that the caller leaves, and ends its count.
    @inlinable @inline(__always) func leave<Observer: EntryObserver>(
        _ observer: Observer,
        _ mode: AccessMode,
        _ entry: Observer.Entry
    ) {
        observer.leaves(entry)
        if Observer.isActive {
            entrants.leave(mode)
        }
    }
}

extension AccessQueue {
    /// Runs `body` on the queue while the calling task is suspended.
    ///
    /// The access is counted in the backlog.
    @usableFromInline
    nonisolated(nonsending) func runAwaited<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ observer: Observer,
        _ submissions: Submissions,
        _ body: @Sendable () -> Result
    ) async throws(AccessRefused) -> Result {
        let mode = request.mode
        let entry = ask(observer, request)
        let result = await withoutActuallyEscaping(body) { body in
            let queued = QueuedBody(observer, body)
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    queued.wait(continuation)
                    queue.async(flags: isBarrier(mode) ? .barrier : []) {
                        let turn = queued.run { observer, body in
                            var entry = entry
                            observer.enters(&entry)
                            body()
                            leave(observer, mode, entry)
                        }
                        submissions.leave(mode, after: turn)
                        if turn == .ran {
                            queued.resume()
                        } else {
                            submissions.completions.async { queued.letGo() }
                        }
                    }
                }
            } onCancel: {
                submissions.cancel(queued, mode)
            }
            return queued.takeResult()
        }
        guard let result else { throw .cancelled }
        return result
    }
}

/// A block on the queue suspends it.
///
/// After the block has returned nothing else begins, so exclusion continues without a stack frame
/// and without a waiting thread.
extension AccessQueue: HoldableQueue {
    @inlinable func hold(_ mode: AccessMode) {
        sync(mode) { queue.suspend() }
    }

    @usableFromInline
    func enqueueHold(_ mode: AccessMode, _ entered: @escaping @Sendable () -> Void) {
        queue.async(flags: isBarrier(mode) ? .barrier : []) { [queue] in
            queue.suspend()
            entered()
        }
    }

    @usableFromInline func release() {
        queue.resume()
    }
}

/// The state of a queue that applies submitted writes later.
///
/// **Design.** A task that is cancelled gives its room in the backlog back at once. Its block stays
/// in the queue, and is empty. So that such blocks have a limit, too, there are at most
/// ``cancelledMax``: a task that is cancelled beyond them keeps its room until the queue reaches
/// its block.
@usableFromInline final class Submissions: Sendable {
    @usableFromInline let backlog: Backlog
    @usableFromInline let completions = Completions.queue()

    private let cancelledCount = Atomic<Int>(0)

    @usableFromInline init(backlogMax: Int) {
        backlog = Backlog(max: backlogMax)
    }

    /// How many empty blocks may be in the queue: 16 for each access that it accepts.
    private var cancelledMax: Int { 16 * Int(backlog.max) }

    /// Takes the body back, unless the queue has begun; its task goes on.
    ///
    /// Relaxed: the count orders nothing.
    @usableFromInline func cancel(
        _ queued: QueuedBody<some EntryObserver, some Sendable>,
        _ mode: AccessMode
    ) {
        let count = cancelledCount.add(1, ordering: .relaxed).newValue
        let givesBack = count <= cancelledMax
        let isCancelled = queued.cancel(as: givesBack ? .gaveRoomBack : .keepsRoom) {
            if givesBack {
                backlog.leave(mode)
            }
        }
        if !isCancelled || !givesBack {
            cancelledCount.subtract(1, ordering: .relaxed)
        }
    }

    /// Ends the count of an access that has had its turn in the queue.
    @usableFromInline func leave(_ mode: AccessMode, after turn: QueuedTurn) {
        if turn == .gaveRoomBack {
            cancelledCount.subtract(1, ordering: .relaxed)
        } else {
            backlog.leave(mode)
        }
    }
}

/// How many readers and writers are on a queue, inside or ahead.
@usableFromInline final class Entrants: Sendable {
    @usableFromInline static var reader: UInt64 { 1 }
    @usableFromInline static var writer: UInt64 { 1 << 32 }

    @usableFromInline let count = Atomic<UInt64>(0)

    @inlinable init() {}

    /// Counts the caller; false if it has to wait for another access.
    ///
    /// Relaxed, here and below: a statistic, which orders nothing.
    @inlinable func join(_ mode: AccessMode, isConcurrent: Bool) -> Bool {
        let one = mode == .read ? Self.reader : Self.writer
        let before = count.add(one, ordering: .relaxed).oldValue
        return mode == .read && isConcurrent ? before < Self.writer : before == 0
    }

    @inlinable func leave(_ mode: AccessMode) {
        count.subtract(mode == .read ? Self.reader : Self.writer, ordering: .relaxed)
    }
}
