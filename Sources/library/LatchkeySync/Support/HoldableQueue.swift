public import Synchronization

/// A queue or an actor that can be held, with a count of the accesses on it.
///
/// **Design.** An access to several queues enters all of them in one step: ``SeveralQueues`` adds
/// one entry to each queue while it holds a lock of the process. So two such accesses have the same
/// order on every queue that they share and cannot wait for each other, and later submissions of
/// the same thread come after them. An entry holds its queue when it is reached. The last entry
/// runs the body, and then all queues go on. No thread is blocked meanwhile.
@usableFromInline protocol HoldableQueue: Sendable {
    /// Tells the observer that an access asks, and whether it has to wait.
    func ask<Observer: EntryObserver>(
        _ observer: Observer,
        _ request: AccessRequest
    ) -> Observer.Entry

    /// Tells the observer that the access leaves.
    func leave<Observer: EntryObserver>(
        _ observer: Observer,
        _ mode: AccessMode,
        _ entry: Observer.Entry
    )

    /// Adds an entry to the queue and returns; when it is reached, nothing else begins until
    /// ``release()``, and `entered` is called, on any thread.
    func enqueueHold(_ mode: AccessMode, _ entered: @escaping @Sendable () -> Void)

    /// Lets the queue go on.
    func release()
}

/// An access to several queues at once.
@usableFromInline struct SeveralQueues<Queue: HoldableQueue, Observer: EntryObserver>: Sendable {
    @usableFromInline let queues: [Queue]
    @usableFromInline let observers: [Observer]
    @usableFromInline let request: AccessRequest

    @inlinable init(_ queues: [Queue], _ observers: [Observer], _ request: AccessRequest) {
        self.queues = queues
        self.observers = observers
        self.request = request
    }

    /// Enters all queues and calls `then`, inside all of them, on any thread.
    ///
    /// `then` gets the observers' entries, for ``run(_:_:)``. The blocks on the queues do not keep
    /// the observers.
    @inlinable func enter(then: @escaping @Sendable ([Observer.Entry]) -> Void) {
        let entries = zip(queues, observers).map { $0.ask($1, request) }
        // One more than there are queues: the last step must not happen under the lock.
        let missing = Countdown(queues.count + 1)
        let entered = { @Sendable in
            if missing.isLast() {
                then(entries)
            }
        }
        SeveralOrder.lock.lock()
        for queue in queues {
            queue.enqueueHold(request.mode, entered)
        }
        SeveralOrder.lock.unlock()
        entered()
    }

    /// Runs `body` inside all queues, then lets them go on.
    @inlinable func run<Result, Failure: Error>(
        _ entries: [Observer.Entry],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var entries = entries
        for index in queues.indices {
            observers[index].enters(&entries[index])
        }
        defer {
            for index in queues.indices.reversed() {
                queues[index].leave(observers[index], request.mode, entries[index])
                queues[index].release()
            }
        }
        return try body()
    }
}

/// The lock under which entries are added to several queues.
///
/// One for the process: it is held while entries are added to several queues, but not for an entry
/// to one queue.
@usableFromInline enum SeveralOrder {
    @usableFromInline static let lock = AdaptiveLock()
}

/// Counts down, and tells the last caller.
@usableFromInline package final class Countdown: Sendable {
    @usableFromInline let missing: Atomic<Int>

    @inlinable package init(_ count: Int) {
        missing = Atomic(count)
    }

    /// Acquiring and releasing: the last one sees what all others did before.
    @inlinable package func isLast() -> Bool {
        missing.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }
}
