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
/// **Cost.** Each access goes through a witness table into code that is not specialised for the
/// result of the body: tens of nanoseconds, and an allocation where the result is returned through
/// an escaping closure. Where that matters, choose with ``StrategyKind/accept(_:)`` once, and run
/// generic code over ``Synchronized`` from there on.
public struct AnySynchronized<Value: Sendable>: Sendable {
    /// The strategy.
    public let kind: StrategyKind

    /// The blocking access functions; nil for `actor`, which has none.
    public let blocking: (any BlockingAccess<Value>)?

    private let submitting: any SubmittingAccess<Value>

    /// A value under the strategy of that name.
    public init(_ value: Value, kind: StrategyKind) {
        self.kind = kind
        (submitting, blocking) = kind.accept(AccessVisitor(value: value))
    }

    /// The number of writes that were accepted and are not yet applied.
    public var backlogCount: Int { submitting.backlogCount }

    /// As ``Synchronized/submitRead(observer:fileID:line:_:completion:)``.
    public func submitRead<Result: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        submitting.submitRead(
            observer: NoObserver(),
            fileID: fileID,
            line: line,
            body,
            completion: completion
        )
    }

    /// As ``Synchronized/submitWrite(observer:fileID:line:_:completion:)``.
    public func submitWrite<Result: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try submitting.submitWrite(
            observer: NoObserver(),
            fileID: fileID,
            line: line,
            body,
            completion: completion
        )
    }

    /// As ``Synchronized/asyncRead(observer:fileID:line:_:)``.
    public func asyncRead<Result: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Value) -> Result
    ) async -> Result {
        await submitting.asyncRead(observer: NoObserver(), fileID: fileID, line: line, body)
    }

    /// As ``Synchronized/asyncWrite(observer:fileID:line:_:)``.
    public func asyncWrite<Result: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (inout Value) -> Result
    ) async throws(BacklogFull) -> Result {
        try await submitting.asyncWrite(observer: NoObserver(), fileID: fileID, line: line, body)
    }
}

/// The access functions of ``Synchronized`` that exist under every strategy.
protocol SubmittingAccess<Value>: Sendable {
    associatedtype Value: Sendable

    var backlogCount: Int { get }

    func submitRead<Observer: EntryObserver, Result: Sendable>(
        observer: Observer,
        fileID: StaticString,
        line: UInt,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    )

    func submitWrite<Observer: EntryObserver, Result: Sendable>(
        observer: Observer,
        fileID: StaticString,
        line: UInt,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull)

    func asyncRead<Observer: EntryObserver, Result: Sendable>(
        observer: Observer,
        fileID: StaticString,
        line: UInt,
        _ body: @escaping @Sendable (Value) -> Result
    ) async -> Result

    func asyncWrite<Observer: EntryObserver, Result: Sendable>(
        observer: Observer,
        fileID: StaticString,
        line: UInt,
        _ body: @escaping @Sendable (inout Value) -> Result
    ) async throws(BacklogFull) -> Result
}

/// The access functions of ``Synchronized`` that block.
public protocol BlockingAccess<Value>: Sendable {
    associatedtype Value: Sendable

    func read<Observer: EntryObserver, Result, Failure: Error>(
        observer: Observer,
        fileID: StaticString,
        line: UInt,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result

    func write<Observer: EntryObserver, Result, Failure: Error>(
        observer: Observer,
        fileID: StaticString,
        line: UInt,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result
}

extension BlockingAccess {
    /// As ``Synchronized/read(observer:fileID:line:_:)``.
    public func read<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try read(observer: NoObserver(), fileID: fileID, line: line, body)
    }

    /// As ``Synchronized/write(observer:fileID:line:_:)``.
    public func write<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try write(observer: NoObserver(), fileID: fileID, line: line, body)
    }
}

extension Synchronized: SubmittingAccess {}
extension Synchronized: BlockingAccess where ChosenStrategy: BlockingStrategy {}

/// Makes the guarded value, with the access functions that its strategy has.
private struct AccessVisitor<Value: Sendable>: StrategyVisitor {
    typealias Output = (any SubmittingAccess<Value>, (any BlockingAccess<Value>)?)

    let value: Value

    func visit<ChosenStrategy: NamedStrategy>(_ strategy: ChosenStrategy.Type) -> Output {
        (Synchronized<Value, ChosenStrategy>(value), nil)
    }

    func visitBlocking<ChosenStrategy: NamedStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Output {
        let synchronized = Synchronized<Value, ChosenStrategy>(value)
        return (synchronized, synchronized)
    }
}
