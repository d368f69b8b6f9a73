public import LatchkeySync

/// Generic code to run with a strategy that is known only by name.
///
/// ``StrategyKind/accept(_:)`` is the one switch from names to types. It is inlinable, so the
/// visitor is compiled once for each strategy, without dynamic dispatch after the visit.
public protocol StrategyVisitor<Output, Failure> {
    associatedtype Output
    associatedtype Failure: Error = Never

    /// Called with the type of a strategy.
    func visit<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type
    ) throws(Failure) -> Output

    /// Called instead of `visit` for a strategy that can block, which is every one but `actor`.
    /// Only a visitor that uses the blocking access functions has to implement it.
    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) throws(Failure) -> Output

    /// Called instead of `visitBlocking` for a strategy that is one raw lock and nothing else. Only
    /// a visitor that is about the lock itself has to implement it.
    func visitLock<Lock: NamedLock>(
        _ strategy: RawLockStrategy<Lock>.Type
    ) throws(Failure) -> Output
}

extension StrategyVisitor {
    /// Visits like any other strategy.
    @inlinable public func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) throws(Failure) -> Output {
        try visit(strategy)
    }

    /// Visits like any other strategy that can block.
    @inlinable public func visitLock<Lock: NamedLock>(
        _ strategy: RawLockStrategy<Lock>.Type
    ) throws(Failure) -> Output {
        try visitBlocking(strategy)
    }
}
