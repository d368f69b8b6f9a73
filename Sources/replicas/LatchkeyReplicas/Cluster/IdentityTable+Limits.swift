package import LatchkeyFrame
package import LatchkeyReplication

extension IdentityTable {
    /// Nil if `Idempotency-Key` is switched off.
    package init?(_ limits: IdempotencyLimits) {
        guard limits.time > .zero else { return nil }
        self.init(
            Limits(
                lifetimeMilliseconds: Int64(limits.time / .milliseconds(1)),
                keyCountMax: limits.keyCountMax,
                byteCountMax: limits.byteCountMax
            )
        )
    }
}
