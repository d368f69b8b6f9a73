public import LatchkeySync

/// A value and a strategy that is chosen by name at run time.
///
/// ```swift
/// let scores = AnySynchronized<[String: Int]>([:], kind: .barrierQueue)
/// try await scores.asyncWrite { $0["ada", default: 0] += 1 }
/// let best = scores.blocking?.read { $0.values.max() }
/// ```
///
/// The submitting and asynchronous access functions work under every strategy. ``blocking`` has the
/// blocking ones; it is nil under a strategy that cannot block.
///
/// **Cost.** One call through a witness table more than ``Synchronized``: a few nanoseconds. Where
/// that matters, choose with `accept(_:)` of ``StrategyKind`` once, and run generic code over
/// ``Synchronized`` from there on.
public struct AnySynchronized<Value: Sendable>: Sendable {
    /// The strategy's name.
    public let kind: StrategyKind

    /// The blocking access functions; nil for `actor`, which has none.
    public let blocking: BlockingAccess<Value>?

    private let guarded: GuardedValue<Value>
    private let strategy: any Strategy

    /// A value under the strategy of that name.
    public init(_ value: Value, kind: StrategyKind) {
        self.kind = kind
        guarded = GuardedValue(value)
        strategy = kind.accept(StrategyMaker(memory: guarded))
        strategy.begin(guarded)
        blocking = BlockingAccess(guarded, strategy)
    }

    /// The number of writes that were accepted and are not yet applied.
    public var backlogCount: Int { strategy.backlogCount }

    /// As ``Synchronized/submitRead(fileID:line:_:completion:)``.
    public func submitRead<Result: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        func submit(_ strategy: some Strategy) throws(BacklogFull) {
            try Synchronized(guarded, strategy)
                .submitRead(fileID: fileID, line: line, body, completion: completion)
        }
        try submit(strategy)
    }

    /// As ``Synchronized/submitWrite(fileID:line:_:completion:)``.
    public func submitWrite<Result: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        func submit(_ strategy: some Strategy) throws(BacklogFull) {
            try Synchronized(guarded, strategy)
                .submitWrite(fileID: fileID, line: line, body, completion: completion)
        }
        try submit(strategy)
    }

    /// As ``Synchronized/asyncRead(whenFull:fileID:line:_:)``.
    nonisolated(nonsending)
        public func asyncRead<Result: Sendable>(
            whenFull: WhenFull = .wait,
            fileID: StaticString = #fileID,
            line: UInt = #line,
            _ body: @Sendable (Value) -> Result
        ) async throws(AccessRefused) -> Result
    {
        nonisolated(nonsending)
            func read(_ strategy: some Strategy) async throws(AccessRefused) -> Result
        {
            try await Synchronized(guarded, strategy)
                .asyncRead(whenFull: whenFull, fileID: fileID, line: line, body)
        }
        return try await read(strategy)
    }

    /// As ``Synchronized/asyncWrite(whenFull:fileID:line:_:)``.
    nonisolated(nonsending)
        public func asyncWrite<Result: Sendable>(
            whenFull: WhenFull = .wait,
            fileID: StaticString = #fileID,
            line: UInt = #line,
            _ body: @Sendable (inout Value) -> Result
        ) async throws(AccessRefused) -> Result
    {
        nonisolated(nonsending)
            func write(_ strategy: some Strategy) async throws(AccessRefused) -> Result
        {
            try await Synchronized(guarded, strategy)
                .asyncWrite(whenFull: whenFull, fileID: fileID, line: line, body)
        }
        return try await write(strategy)
    }
}

private struct StrategyMaker: StrategyVisitor {
    let memory: LockMemory

    func visit<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> any Strategy {
        ChosenStrategy(in: memory)
    }
}
