public import LatchkeySync

/// A strategy and the probe that sees every access to it.
///
/// Each guard (stripe) has its own: `meter.metered(LockStrategy())`.
public typealias Metered<Base: Strategy> = ObservedStrategy<Base, ContentionProbe>

extension ContentionMeter {
    /// The strategy with a probe of its own that writes to this meter.
    ///
    /// The traits are those of the strategy that does the work.
    @inlinable package func metered<Base: Strategy>(
        _ base: Base,
        stripe: StripeWait? = nil
    ) -> Metered<Base> {
        let traits = type(of: base.erased).traits
        return ObservedStrategy(base, by: ContentionProbe(self, traits: traits, stripe: stripe))
    }

    /// The same for one stripe of several, whose waits are also told apart.
    @inlinable package func meteredStripe<Base: Strategy>(_ base: Base) -> Metered<Base> {
        metered(base, stripe: addStripe())
    }
}
