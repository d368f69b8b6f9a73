public import Dispatch

/// A dispatch queue as a strategy, in constants.
///
/// The traits say whether readers share the queue, and whether submitted writes are applied later.
/// ``QueueStrategy`` makes a strategy of it.
public protocol QueueStyle {
    /// The name of the strategy in messages.
    static var name: String { get }

    /// One sentence about the strategy, for tables.
    static var summary: String { get }

    /// The promises of the strategy.
    ///
    /// The queue is concurrent if ``StrategyTraits/allowsConcurrentReaders`` is true, and has a
    /// backlog if ``StrategyTraits/appliesWritesAsynchronously`` is true.
    static var traits: StrategyTraits { get }
}

/// A strategy that is one private dispatch queue: accesses run in the order of submission.
///
/// If the queue has a backlog, submitted writes are applied later: each is accepted at once and
/// applied in the order of submission, on a thread of Latchkey's. Its completion runs on another
/// queue, so it may enter the value again, and completions come in the order in which the writes
/// were applied. The blocking `write` is the synchronous form: it runs after all writes that were
/// submitted before it. Tasks are suspended, and the body runs on the queue.
///
/// **Design.** Only the queue is shared; ``AccessQueue`` describes it. A thread that enters several
/// queues in one step waits on a semaphore for the last of them.
public struct QueueStrategy<Style: QueueStyle>: InPlaceStrategy, MakeableStrategy {
    /// The promise.
    @inlinable public static var strategyPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var blockingPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var inPlacePromise: Promise<Self> { unsafe .unchecked() }

    /// The name of the style.
    public static var name: String { Style.name }

    /// The summary of the style.
    public static var summary: String { Style.summary }

    /// The traits of the style.
    @inlinable public static var traits: StrategyTraits { Style.traits }

    /// The queue.
    @usableFromInline let queue: AccessQueue

    /// Makes a strategy for one value.
    public init() { self.init(backlogMax: BacklogBound.standard) }

    /// - Parameter backlogMax: How many accepted writes may wait to be applied, if the queue has a
    ///   backlog.
    public init(backlogMax: Int) {
        queue = AccessQueue(
            label: Style.name,
            isConcurrent: Style.traits.allowsConcurrentReaders,
            backlogMax: Style.traits.appliesWritesAsynchronously ? backlogMax : nil
        )
    }

    /// How many submitted writes are not applied yet.
    @inlinable public var backlogCount: Int { queue.submissions?.backlog.writeCount ?? 0 }

    /// Runs `body` on the queue, as a barrier if it writes where readers share it.
    @inlinable public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.run(request, observer, body)
    }

    /// Keeps the queue: nothing on it begins until the release.
    @unsafe @inlinable public func hold<Observer: EntryObserver>(
        _ request: AccessRequest,
        observer: Observer
    ) -> Release {
        var entry = queue.ask(observer, request)
        queue.hold(request.mode)
        observer.enters(&entry)
        return { [entry] in
            queue.leave(observer, request.mode, entry)
            queue.release()
        }
    }

    /// Adds a write to the backlog if there is one.
    @inlinable public func submit<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        guard request.mode == .write, let submissions = queue.submissions else {
            return completion(access(request, observer: observer, body))
        }
        try submissions.backlog.enter(.write)
        let submitted = SubmittedBody(observer, body, completion)
        queue.submit(request, observer, submissions, submitted)
    }

    /// Runs `body` on the queue if it has a backlog, else on the task's thread.
    @inlinable
    nonisolated(nonsending) public func awaiting<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        whenFull: WhenFull,
        _ body: @Sendable () -> Result
    ) async throws(AccessRefused) -> Result {
        guard let submissions = queue.submissions else {
            return try unlessCancelled(request, observer, body)
        }
        if submissions.backlog.tryEnter(request.mode) == .full {
            try await submissions.backlog.wait(request.mode, whenFull)
        }
        return try await queue.runAwaited(request, observer, submissions, body)
    }
}

// Several queues at once. If writes are applied before the call returns, threads take one queue
// after the other, as in ``BlockingStrategy``; otherwise all queues are entered in one step.

extension QueueStrategy {
    /// Runs `body` on the calling thread while it keeps all queues.
    @inlinable public static func accessAll<Observer: EntryObserver, Result, Failure: Error>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Observer],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard traits.appliesWritesAsynchronously else {
            return try accessEach(request, strategies, observers, body)
        }
        let several = SeveralQueues(strategies.map(\.queue), observers, request)
        let inside = DispatchHandOver<[Observer.Entry]>()
        several.enter { inside.give($0) }
        return try several.run(inside.take(), body)
    }

    /// Adds a write to the backlogs if there are any.
    @inlinable public static func submitAll<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Observer],
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let submissions = strategies.compactMap(\.queue.submissions)
        guard request.mode == .write, let first = submissions.first else {
            return completion(accessAll(request, strategies, observers: observers, body))
        }
        try Backlog.enterAll(submissions.count) { (index) throws(BacklogFull) in
            try submissions[index].backlog.enter(.write)
        } leave: { index in
            submissions[index].backlog.leave(.write)
        }
        let several = SeveralQueues(strategies.map(\.queue), observers, request)
        let submitted = SubmittedBody(several, body, completion)
        several.enter { entries in
            submitted.run { several, body in several.run(entries, body) }
            for submission in submissions {
                submission.backlog.leave(.write)
            }
            first.completions.async { submitted.complete() }
        }
    }
}

/// Hands a value from the thread that has it to one that waits for it.
///
/// SAFETY: `@unchecked Sendable` because the value is stored before the semaphore is signalled and
/// read after it was waited for.
@usableFromInline final class DispatchHandOver<Value: Sendable>: @unchecked Sendable {
    private let given = DispatchSemaphore(value: 0)
    private var value: Value?

    @usableFromInline init() {}

    @usableFromInline func give(_ value: Value) {
        self.value = value
        given.signal()
    }

    @usableFromInline func take() -> Value {
        given.wait()
        guard let value else {
            preconditionFailure("The semaphore was signalled before the value was stored.")
        }
        return value
    }
}
