public import Dispatch

/// A strategy that is one queue: accesses run in the order of submission.
///
/// All access functions follow from the queue. If that has a backlog, submitted writes are applied
/// later: each is accepted at once and applied in the order of submission, on a thread of
/// Latchkey's. Its completion runs on another queue, so it may enter the value again, and
/// completions come in the order in which the writes were applied. The blocking `write` is the
/// synchronous form: it runs after all writes that were submitted before it.
///
/// **Design.** Only the queue is shared; ``AccessQueue`` describes it. A thread that enters several
/// queues in one step waits on a semaphore for the last of them.
public protocol QueueStrategy: InPlaceStrategy {
    /// The queue.
    var queue: AccessQueue { get }
}

extension QueueStrategy {
    /// How many submitted writes are not applied yet.
    @inlinable public var backlogCount: Int { queue.submissions?.backlog.writeCount ?? 0 }

    /// Runs `body` on the queue, as a barrier if it writes where readers share it.
    @inlinable
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ mode: AccessMode,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.run(observer, mode, body)
    }

    /// Keeps the queue: nothing on it begins until the release.
    @inlinable
    public func hold<Observer: EntryObserver>(
        _ mode: AccessMode,
        observer: Observer
    ) -> Release {
        var entry = queue.ask(observer, mode)
        queue.hold(mode)
        observer.enters(&entry)
        return { [entry] in
            queue.leave(observer, mode, entry)
            queue.release()
        }
    }

    /// Adds the write to the backlog if there is one.
    @inlinable
    public func submitWrite<Value, Observer: EntryObserver, Result: Sendable>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        guard let submissions = queue.submissions else {
            return completion(write(guarded, observer: observer, body))
        }
        try submissions.backlog.enter(.write)
        queue.submit(
            observer,
            { guarded.write(body) },
            then: { result in
                submissions.backlog.leave(.write)
                submissions.completions.async { completion(result) }
            }
        )
    }
}

// Tasks. Under a queue with a backlog they are suspended, and the body runs on the queue.

extension QueueStrategy {
    /// Reads.
    @inlinable
    nonisolated(nonsending)
        public func asyncRead<Value, Observer: EntryObserver, Result: Sendable>(
            _ guarded: GuardedValue<Value>,
            observer: Observer,
            whenFull: WhenFull,
            _ body: @Sendable (Value) -> Result
        ) async throws(AccessRefused) -> Result
    {
        guard let submissions = queue.submissions else {
            return try blocking {
                read(guarded, observer: observer) { Task.isCancelled ? nil : body($0) }
            }
        }
        if submissions.backlog.tryEnter(.read) == .full {
            try await submissions.backlog.wait(.read, whenFull)
        }
        return try await queue.runAwaited(observer, .read, submissions) { guarded.read(body) }
    }

    /// Writes.
    @inlinable
    nonisolated(nonsending)
        public func asyncWrite<Value, Observer: EntryObserver, Result: Sendable>(
            _ guarded: GuardedValue<Value>,
            observer: Observer,
            whenFull: WhenFull,
            _ body: @Sendable (inout Value) -> Result
        ) async throws(AccessRefused) -> Result
    {
        guard let submissions = queue.submissions else {
            return try blocking {
                write(guarded, observer: observer) { Task.isCancelled ? nil : body(&$0) }
            }
        }
        if submissions.backlog.tryEnter(.write) == .full {
            try await submissions.backlog.wait(.write, whenFull)
        }
        return try await queue.runAwaited(observer, .write, submissions) { guarded.write(body) }
    }
}

// Several queues at once. If writes are applied before the call returns, threads take one queue
// after the other, as in ``BlockingStrategy``; otherwise all queues are entered in one step.

extension QueueStrategy {
    /// Runs `body` on the calling thread while it keeps all queues.
    @inlinable
    public static func holding<Observer: EntryObserver, Result, Failure: Error>(
        _ mode: AccessMode,
        _ strategies: [Self],
        observers: [Observer],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard traits.appliesWritesAsynchronously else {
            return try holdingEach(mode, strategies, observers, body)
        }
        let several = SeveralQueues(strategies.map(\.queue), observers, mode)
        let inside = DispatchHandOver<[Observer.Entry]>()
        several.enter { inside.give($0) }
        return try several.run(inside.take(), body)
    }

    /// Adds the write to the backlogs if there are any.
    @inlinable
    public static func submitWriteAll<Value, Observer: EntryObserver, Result: Sendable>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: @escaping @Sendable (inout [Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let submissions = strategies.compactMap(\.queue.submissions)
        guard submissions.count == strategies.count, let first = submissions.first else {
            return completion(writeAll(strategies, guarded, observers: observers, body))
        }
        try Backlog.enterAll(submissions.count) { (index) throws(BacklogFull) in
            try submissions[index].backlog.enter(.write)
        } leave: { index in
            submissions[index].backlog.leave(.write)
        }
        let several = SeveralQueues(strategies.map(\.queue), observers, .write)
        several.enter { entries in
            let result = several.run(entries) { SeveralValues.write(guarded, body) }
            for submission in submissions {
                submission.backlog.leave(.write)
            }
            first.completions.async { completion(result) }
        }
    }
}

/// Hands a value from the thread that has it to one that waits for it.
///
/// SAFETY: `@unchecked Sendable` because the value is stored before the semaphore is signalled and
/// read after it was waited for.
@usableFromInline
final class DispatchHandOver<Value: Sendable>: @unchecked Sendable {
    private let given = DispatchSemaphore(value: 0)
    private var value: Value?

    @usableFromInline init() {}

    @usableFromInline
    func give(_ value: Value) {
        self.value = value
        given.signal()
    }

    @usableFromInline
    func take() -> Value {
        given.wait()
        guard let value else {
            preconditionFailure("The semaphore was signalled before the value was stored.")
        }
        return value
    }
}
