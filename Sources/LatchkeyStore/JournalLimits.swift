package import LatchkeySettings

/// The bounds of a store's history.
package struct JournalLimits: Sendable, Hashable {
    package var commitCountMax = 10_000
    package var byteCountMax = 64 << 20

    package init() {}
}

extension JournalLimits: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .integer(
            "history",
            \.commitCountMax,
            0...100_000_000,
            "The maximum number of commits in the history, from which watches resume and past "
                + "values are read. Without a history every watch that falls behind starts anew."
        ),
        .integer(
            "history-bytes",
            \.byteCountMax,
            0...1_125_899_906_842_624,
            unit: "bytes",
            "The maximum number of bytes that only the history keeps: former values, and commits."
        ),
    ]
}

extension Journal {
    /// A journal before the first commit.
    package convenience init(_ limits: JournalLimits) {
        self.init(commitCountMax: limits.commitCountMax, byteCountMax: limits.byteCountMax)
    }
}
