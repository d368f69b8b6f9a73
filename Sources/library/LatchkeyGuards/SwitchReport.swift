package import LatchkeySync

/// The course of a switch from one strategy to another.
package struct SwitchReport: Sendable, Equatable {
    package var from: StrategyKind
    package var to: StrategyKind
    /// From the first stripe to the last one.
    package var duration: Duration
    /// The longest time that the switch kept one stripe.
    package var longestHold: Duration
    /// The longest access that asked or waited meanwhile and has ended, its wait and its hold.
    ///
    /// One that had entered without a wait before the switch began is left out: no clock was read.
    package var longestAccess: Duration

    package init(
        from: StrategyKind,
        to: StrategyKind,
        duration: Duration = .zero,
        longestHold: Duration = .zero,
        longestAccess: Duration = .zero
    ) {
        (self.from, self.to) = (from, to)
        (self.duration, self.longestHold) = (duration, longestHold)
        self.longestAccess = longestAccess
    }
}

/// Why a switch was refused.
///
/// Nothing was changed.
package enum SwitchRefusal: Error, Equatable {
    /// Another one is under way.
    case underWay
    /// A strategy without an access that blocks guards one stripe only.
    case needsOneStripe(StrategyKind, stripeCount: Int)
}
