public import LatchkeySync

/// A strategy and the probe that sees every access to it.
///
/// Each guard (stripe) has its own: `meter.metered(LockStrategy())`. It decorates any strategy and
/// gives the same access; an observer of the caller's is told as well.
public struct Metered<Base: Strategy>: WrappingStrategy {
    /// The strategy that does the work.
    public let base: Base
    /// Counts and times each access.
    public let ownObserver: ContentionProbe
    /// Counts and times each access that is submitted.
    @inlinable public var ownSubmissionObserver: SubmissionProbe { SubmissionProbe(ownObserver) }

    @inlinable
    package init(_ base: Base, _ meter: ContentionMeter, stripe: StripeWait? = nil) {
        self.base = base
        ownObserver = ContentionProbe(meter, traits: Base.traits, stripe: stripe)
    }
}

extension Metered: BlockingStrategy where Base: BlockingStrategy {}
extension Metered: InPlaceStrategy where Base: InPlaceStrategy {}
extension Metered: TryingStrategy where Base: TryingStrategy {}
extension Metered: TimedStrategy where Base: TimedStrategy {}
extension Metered: ConditionStrategy where Base: ConditionStrategy {}

extension ContentionMeter {
    /// The strategy with a probe of its own that writes to this meter.
    @inlinable
    package func metered<Base: Strategy>(_ base: Base) -> Metered<Base> {
        Metered(base, self)
    }

    /// The same for one stripe of several, whose waits are also told apart.
    @inlinable
    package func meteredStripe<Base: Strategy>(_ base: Base) -> Metered<Base> {
        Metered(base, self, stripe: addStripe())
    }
}
