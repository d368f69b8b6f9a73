/// A value and the strategy that guards it.
///
/// ```swift
/// let scores = Synchronized<[String: Int], LockStrategy>([:])
/// scores.write { $0["ada", default: 0] += 1 }
/// let best = scores.read { $0.values.max() }
/// ```
///
/// ``read(_:)`` and ``write(_:)`` are the only doors to the value. They are scoped and
/// synchronous: nothing of the value outlives the body unless the body returns a copy.
public final class Synchronized<Value: Sendable, Guard: Strategy>: Sendable {
    @usableFromInline let strategy: Guard
    @usableFromInline let cell: Cell<Value>

    @inlinable
    public init(_ value: consuming sending Value, strategy: Guard) {
        self.strategy = strategy
        cell = Cell(value)
    }

    @inlinable
    public convenience init(_ value: consuming sending Value) where Guard: NamedStrategy {
        self.init(value, strategy: Guard())
    }
}

extension Synchronized where Guard: BlockingStrategy {
    @inlinable
    public func read<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try strategy.read(cell, observer: NoObserver(), body)
    }

    @inlinable
    public func write<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try strategy.write(cell, observer: NoObserver(), body)
    }
}
