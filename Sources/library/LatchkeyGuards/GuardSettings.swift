package import LatchkeyContention
package import LatchkeySync

/// The settings of the guards of one store.
package struct GuardSettings: Sendable {
    /// The strategy at the start.
    package var kind: StrategyKind
    /// How many accepted writes may wait at a stripe, under strategies that apply them later.
    package var backlogMax: Int
    /// The meter of each strategy that serves; nil if nothing is measured.
    ///
    /// Asked once for each strategy, when it first serves.
    package var meter: (@Sendable (StrategyKind) -> ContentionMeter)?

    package init(
        _ kind: StrategyKind,
        backlogMax: Int = BacklogBound.standard,
        meter: (@Sendable (StrategyKind) -> ContentionMeter)? = nil
    ) {
        (self.kind, self.backlogMax, self.meter) = (kind, backlogMax, meter)
    }
}
