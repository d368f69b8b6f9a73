public import Synchronization

/// An actor as a queue, with its backlog.
///
/// **Design.** A task awaits the actor and pays for nothing else. A thread submits an immediate
/// task: it runs on the submitting thread until it waits for the actor. So the order is that of
/// submission, because all have one priority. A plain task promises no order: on systems without
/// immediate tasks only ``ActorStrategy`` is missing.
@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
@usableFromInline struct ActorQueue: HoldableQueue {
    @usableFromInline let isolation: Isolation

    @inlinable init(backlogMax: Int) {
        isolation = Isolation(backlogMax: backlogMax)
    }

    /// Counts the access, and adds it to the queue.
    @inlinable func submit<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ observer: Observer,
        _ body: @escaping @Sendable () -> Result,
        _ completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let mode = request.mode
        let entry = tell(observer, request, isAlone: try isolation.backlog.enter(mode))
        Task.immediate(priority: .medium) {
            // SAFETY: as in `access`.
            nonisolated(unsafe) var result: Result?
            await isolation.run { unsafe result = inside(observer, mode, entry, body) }
            // No other code has this task, so it is not cancelled.
            if let result = unsafe result {
                completion(result)
            }
        }
    }

    /// Awaits the actor.
    @inlinable @inline(__always)
    nonisolated(nonsending) func access<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ observer: Observer,
        _ whenFull: WhenFull,
        _ body: @Sendable () -> Result
    ) async throws(AccessRefused) -> Result {
        let mode = request.mode
        var admission = isolation.backlog.tryEnter(mode)
        if admission == .full {
            try await isolation.backlog.wait(mode, whenFull)
            admission = .behindOthers
        }
        let entry = tell(observer, request, isAlone: admission == .alone)
        // SAFETY: the task is suspended while the actor runs the closure, which no other code can
        // reach.
        nonisolated(unsafe) var result: Result?
        await isolation.run { unsafe result = inside(observer, mode, entry, body) }
        guard let result = unsafe result else { throw .cancelled }
        return result
    }

    /// Runs `body` inside, unless the task was cancelled; then the result is nil.
    ///
    /// The observer hears of it in both cases: the access has had its turn.
    @inlinable @inline(__always) func inside<Observer: EntryObserver, Result: Sendable>(
        _ observer: Observer,
        _ mode: AccessMode,
        _ entry: Observer.Entry,
        _ body: @Sendable () -> Result
    ) -> Result? {
        var entry = entry
        observer.enters(&entry)
        let result = Task.isCancelled ? nil : body()
        leave(observer, mode, entry)
        return result
    }

    /// Tells the observer of an access that was counted.
    @inlinable @inline(__always) func tell<Observer: EntryObserver>(
        _ observer: Observer,
        _ request: AccessRequest,
        isAlone: Bool
    ) -> Observer.Entry {
        var entry = observer.asks(request)
        if Observer.isActive && !isAlone {
            observer.isBlocked(&entry)
        }
        return entry
    }

    /// For an access to several actors, which was counted already.
    @inlinable func ask<Observer: EntryObserver>(
        _ observer: Observer,
        _ request: AccessRequest
    ) -> Observer.Entry {
        let word = isolation.backlog.word.load(ordering: .relaxed)
        return tell(observer, request, isAlone: word == Backlog.one(request.mode))
    }

    @inlinable func leave<Observer: EntryObserver>(
        _ observer: Observer,
        _ mode: AccessMode,
        _ entry: Observer.Entry
    ) {
        observer.leaves(entry)
        isolation.backlog.leave(mode)
    }

    @usableFromInline
    func enqueueHold(_ mode: AccessMode, _ entered: @escaping @Sendable () -> Void) {
        Task.immediate(priority: .medium) {
            await isolation.enter()
            entered()
        }
    }

    @usableFromInline func release() {
        Task.immediate(priority: .medium) {
            await isolation.leave()
        }
    }
}

/// The actor. It does not hold the value, which is in the ``GuardedValue``.
///
/// **Design.** An access that lasts for one call needs nothing but the actor. An access to
/// several values stays inside longer, without blocking a thread: `isTaken` says so, and later
/// accesses wait until it is released. The one that leaves lets the first of them in; none
/// overtakes it.
///
/// An actor without fields has 112 bytes; this one has 133, and its memory block 144.
@usableFromInline actor Isolation {
    @usableFromInline nonisolated let backlog: Backlog

    private var isTaken = false

    @usableFromInline init(backlogMax: Int) {
        backlog = Backlog(max: backlogMax)
    }

    /// Runs `body` on the actor.
    ///
    /// Not generic, and so not compiled again for each value and each body.
    @usableFromInline func run(_ body: @Sendable () -> Void) async {
        // Where no access stays inside, the actor itself excludes all others until `body` returns.
        guard isTaken else { return body() }
        await enter()
        defer { leave() }
        body()
    }

    @usableFromInline func enter() async {
        if isTaken {
            // Named, so that ThreadSanitizer does not take this for a change of `backlog`.
            let line = backlog.line
            await withCheckedContinuation { line.untilReleased.append($0) }
        }
        isTaken = true
    }

    @usableFromInline func leave() {
        let line = backlog.line
        if line.untilReleased.isEmpty {
            isTaken = false
        } else {
            line.untilReleased.removeFirst().resume()
        }
    }
}
