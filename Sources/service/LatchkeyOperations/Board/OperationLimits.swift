package import LatchkeySettings

/// The limits of operations, and how many execute at once.
package struct OperationLimits: Sendable, Hashable {
    /// How many operations can be queued or executing.
    package var countMax = 1000
    /// How many ended operations are kept.
    package var historyCountMax = 1000
    /// How much memory queued operations and kept values take.
    package var byteCountMax = 64 << 20
    /// How many operations execute at once.
    package var executingMax = 2
}

extension OperationLimits: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .integer(
            "max-operations",
            \.countMax,
            1...100_000,
            "The maximum number of operations that are queued or executing. Further ones get "
                + "status 503."
        )
    ]
}
