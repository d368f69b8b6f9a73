/// A strategy that can run a body before the call returns.
///
/// Every strategy can, except `actor`. A submitted body runs before the call returns, too, unless
/// the strategy says otherwise.
public protocol BlockingStrategy: Strategy {
    /// Runs `body` inside: other readers may be inside during a read if
    /// ``StrategyTraits/allowsConcurrentReaders`` is true, writers never.
    func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Enters, and stays inside until the calling thread calls the returned closure.
    ///
    /// The form without a body. A loop over it holds several values at once. No write takes effect
    /// meanwhile, except those of the caller. The strategy says which others can read.
    ///
    /// `@unsafe`: the closure must be called once, on the same thread.
    @unsafe func hold<Observer: EntryObserver>(
        _ request: AccessRequest,
        observer: Observer
    ) -> Release

    /// Runs `body` while the calling thread is inside all guarded sections.
    ///
    /// - Parameters:
    ///   - request: The request to each strategy.
    ///   - strategies: Entered in the order given, which must be the same for all callers.
    ///   - observers: As many observers as strategies. Each hears of the access to its value.
    ///   - body: Runs inside.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    static func accessAll<Observer: EntryObserver, Result, Failure: Error>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Observer],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// That a body runs inside, and once.
    static var blockingPromise: Promise<Self> { get }
}

/// Leaves a guarded section that ``BlockingStrategy/hold(_:observer:)`` entered.
///
/// Called once, on the thread that entered.
public typealias Release = () -> Void

extension BlockingStrategy {
    /// None: writes are applied before the call returns.
    @inlinable public var backlogCount: Int { 0 }

    // Always inlined, as those that call it: else the closures of each request are allocated.

    /// Runs both before it returns.
    @inlinable @inline(__always) public func submit<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        completion(access(request, observer: observer, body))
    }

    /// Runs both before it returns.
    @inlinable public static func submitAll<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Observer],
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        completion(accessAll(request, strategies, observers: observers, body))
    }

    /// Runs `body` on the calling thread, which blocks while it must wait.
    @inlinable
    nonisolated(nonsending) public func awaiting<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        whenFull: WhenFull,
        _ body: @Sendable () -> Result
    ) async throws(AccessRefused) -> Result {
        try unlessCancelled(request, observer, body)
    }

    /// Runs `body` for a task whose thread it blocks, unless the task is cancelled before or while
    /// the thread is blocked.
    @inlinable func unlessCancelled<Observer: EntryObserver, Result>(
        _ request: AccessRequest,
        _ observer: Observer,
        _ body: () -> Result
    ) throws(AccessRefused) -> Result {
        guard !Task.isCancelled,
            let result = access(request, observer: observer, { Task.isCancelled ? nil : body() })
        else { throw .cancelled }
        return result
    }

    /// Enters one after the other.
    @inlinable public static func accessAll<Observer: EntryObserver, Result, Failure: Error>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Observer],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try accessEach(request, strategies, observers, body)
    }

    @inlinable static func accessEach<Observer: EntryObserver, Result, Failure: Error>(
        _ request: AccessRequest,
        _ strategies: [Self],
        _ observers: [Observer],
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let releases = holdEach(request, strategies, observers)
        defer {
            for release in releases.reversed() {
                release()
            }
        }
        return try body()
    }

    /// Never inlined, so that it is compiled once for all bodies.
    @inlinable
    @inline(never)
    static func holdEach<Observer: EntryObserver>(
        _ request: AccessRequest,
        _ strategies: [Self],
        _ observers: [Observer]
    ) -> [Release] {
        var releases: [Release] = []
        releases.reserveCapacity(strategies.count)
        for (strategy, observer) in zip(strategies, observers) {
            unsafe releases.append(strategy.hold(request, observer: observer))
        }
        return releases
    }
}
