package import LatchkeySettings
package import LatchkeyStore

/// How long and how many first answers are kept for repeats with an `Idempotency-Key`.
package struct IdempotencyLimits: Sendable, Hashable {
    /// How long an answer is kept; zero switches the header off.
    package var time = Duration.seconds(600)
    /// How many keys there can be, and requests that wait for the answer to one.
    package var keyCountMax = 100_000
    /// How much memory keys, kept answers and waiting bodies can take.
    package var byteCountMax = 64 << 20

    /// Room for a key, however long, and a short answer.
    package static let byteCountMin = 4096

    package init() {}

    /// A table without keys; nil if `Idempotency-Key` is switched off.
    package func table(isReplicated: Bool) -> IdentityTable? {
        guard time > .zero else { return nil }
        return IdentityTable(
            IdentityTable.Limits(
                lifetimeMilliseconds: Int64(time / .milliseconds(1)),
                keyCountMax: keyCountMax,
                byteCountMax: byteCountMax,
                isReplicated: isReplicated
            )
        )
    }
}

extension IdempotencyLimits: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .seconds(
            "idempotency-seconds",
            \.time,
            0...604_800,
            "How long the answer to a request with an Idempotency-Key is kept. 0 ignores the "
                + "header."
        ),
        .integer(
            "idempotency-bytes",
            \.byteCountMax,
            byteCountMin...1_125_899_906_842_624,
            unit: .bytes,
            "The memory for idempotency keys, kept answers and waiting bodies. Without room a "
                + "new key gets status 503. Long answers take at most half of it."
        ),
    ]
}
