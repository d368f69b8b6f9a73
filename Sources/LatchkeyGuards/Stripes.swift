package import LatchkeyStrategies
internal import Synchronization

/// Values of one kind, each with a guard that is chosen by name, and can be switched.
///
/// **Two doors.** Where a guard applies accesses before the call returns, they go in by ``read``
/// and ``write``, whose closures stay on the stack. Where it applies them later
/// (``appliesLater(_:_:)``), they are submitted. Who asks the wrong door is served all the same:
/// between the question and the access the guard can be switched.
package final class Stripes<Value: Sendable>: Sendable {
    private let striped: Striped<Value, AnyStrategy>
    private let settings: GuardSettings

    /// - Parameters:
    ///   - count: A power of two, at most ``StripeCount/max``.
    ///   - settings: What the guards are made with.
    ///   - value: Makes the first value of each stripe.
    package init(count: Int, _ settings: GuardSettings, value: (_ stripe: Int) -> Value) {
        self.settings = settings
        striped = Striped(count: count, strategy: { AnyStrategy(settings.kind) }, value: value)
    }

    /// The number of stripes.
    package var count: Int { striped.count }

    /// The strategy that new accesses ask.
    package var kind: StrategyKind { settings.kind }

    /// Whether an access to the stripe is best submitted: it would be applied later, on another
    /// thread.
    package func appliesLater(_ stripe: Int, _ mode: AccessMode) -> Bool {
        let traits = kind.traits
        return mode == .write ? traits.appliesWritesAsynchronously : !traits.blocksCaller
    }

    /// The writes that were accepted and are not yet applied, over all stripes.
    package var backlogCount: Int { striped.backlogCount }

    /// Those of the stripe that has the most: each stripe has the bound.
    package var fullestBacklogCount: Int {
        (0..<count).reduce(0) { max($0, striped[$1].backlogCount) }
    }

    // MARK: in place

    /// Runs `body` with a stripe's value, and blocks until it has run.
    ///
    /// The guard must be one that blocks.
    package func read<Result>(_ stripe: Int, _ ask: Ask, _ body: (Value) -> Result) -> Result {
        guard let blocking = striped[stripe].blocking else {
            preconditionFailure("An access to a strategy that does not block is submitted.")
        }
        return blocking.read(body)
    }

    /// Runs `body` with a stripe's value, which it may change, and then `published`, and blocks
    /// until both have run.
    ///
    /// `published` runs inside, when readers find what was written.
    package func write<Result>(
        _ stripe: Int,
        _ ask: Ask,
        _ body: (inout Value) -> Result,
        published: () -> Void
    ) -> Result {
        guard let blocking = striped[stripe].blocking else {
            preconditionFailure("An access to a strategy that does not block is submitted.")
        }
        let result = blocking.write(body)
        published()
        return result
    }

    /// Runs `body` with the values of some stripes at one moment, all of which it may change.
    ///
    /// The stripes are in ascending order, and blocked for until all are held. `published` runs
    /// when readers find all that was written, before the first stripe is left.
    package func write<Result: Sendable>(
        several stripes: [Int],
        _ ask: Ask,
        _ body: @escaping @Sendable (inout [Value]) -> Result,
        published: @escaping @Sendable () -> Void
    ) -> Result {
        let result = Mutex<Result?>(nil)
        do throws(BacklogFull) {
            try submitWrite(several: stripes, ask, body, published: published) { made in
                result.withLock { $0 = made }
            }
        } catch {
            preconditionFailure("A write that blocks is not refused.")
        }
        return result.withLock { $0! }
    }

    // MARK: later

    /// Submits a read, and calls `completion` with its result, outside.
    ///
    /// - Throws: ``BacklogFull`` if as many reads wait as the strategy accepts.
    package func submitRead<Result: Sendable>(
        _ stripe: Int,
        _ ask: Ask,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try striped.submitRead(stripe, body, completion: completion)
    }

    /// Submits a write, and calls `completion` with its result, outside.
    ///
    /// Writes that one thread submits to a stripe are applied in order, also while its guard is
    /// switched.
    ///
    /// - Throws: ``BacklogFull`` if as many writes wait as the strategy accepts.
    package func submitWrite<Result: Sendable>(
        _ stripe: Int,
        _ ask: Ask,
        _ body: @escaping @Sendable (inout Value) -> Result,
        published: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let body = { @Sendable (value: inout Value) in
            let result = body(&value)
            published()
            return result
        }
        try striped.submitWrite(stripe, body, completion: completion)
    }

    /// Submits a write to some stripes at one moment, in ascending order.
    ///
    /// Both closures are called before this returns, unless all of the stripes apply writes later.
    ///
    /// - Throws: ``BacklogFull`` if as many writes to one of the stripes wait as its strategy
    ///   accepts.
    package func submitWrite<Result: Sendable>(
        several stripes: [Int],
        _ ask: Ask,
        _ body: @escaping @Sendable (inout [Value]) -> Result,
        published: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let body = { @Sendable (values: inout [Value]) in
            let result = body(&values)
            published()
            return result
        }
        try striped.submitWrite(several: stripes, body, completion: completion)
    }

    /// Submits a read of all stripes at one moment, which is never refused.
    ///
    /// Both closures are called before this returns, unless the strategy cannot block.
    package func submitReadAll<Result: Sendable>(
        _ ask: Ask,
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        striped.submitReadAll(body, completion: completion)
    }

    // MARK: the switch

    /// Switches all stripes to another strategy, one after the other, and blocks meanwhile.
    ///
    /// - Parameters:
    ///   - kind: The strategy from now on.
    ///   - holdingAll: Called with all stripes held: with true before the first stripe gets a
    ///     strategy whose readers enter during writes, with false after the last one has left it.
    package func `switch`(
        to kind: StrategyKind,
        holdingAll: (_ readsDuringWrites: Bool) -> Void
    ) throws(SwitchRefusal) -> SwitchReport {
        SwitchReport(from: self.kind, to: kind)
    }
}
