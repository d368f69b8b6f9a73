public import LatchkeySync

/// A strategy and the probe that sees every access to it.
///
/// Each guard (stripe) has its own: `meter.metered(LockStrategy())`. It decorates any strategy and
/// gives the same access; an observer of the caller's is told as well.
@usableFromInline package struct Metered<Base: Strategy>: WrappingStrategy {
    @usableFromInline package let base: Base
    @usableFromInline package let ownObserver: ContentionProbe
    @inlinable package var ownSubmissionObserver: SubmissionProbe { SubmissionProbe(ownObserver) }

    @inlinable
    package init(_ base: Base, _ meter: ContentionMeter) {
        self.base = base
        ownObserver = ContentionProbe(meter)
    }
}

extension Metered: BlockingStrategy where Base: BlockingStrategy {}
extension Metered: TryingStrategy where Base: TryingStrategy {}

extension ContentionMeter {
    /// The strategy with a probe of its own that writes to this meter.
    @inlinable
    package func metered<Base: Strategy>(_ base: Base) -> Metered<Base> {
        Metered(base, self)
    }
}
