package import LatchkeySettings

/// The bounds of a journal's history.
package struct HistoryLimits: Sendable, Hashable {
    /// How many commits are held.
    package var commitCountMax: Int
    /// How many bytes only the history may keep.
    package var byteCountMax: Int

    package init(commitCountMax: Int = 10_000, byteCountMax: Int = 64 << 20) {
        self.commitCountMax = commitCountMax
        self.byteCountMax = byteCountMax
    }
}

extension HistoryLimits: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .integer(
            "history",
            \.commitCountMax,
            1...100_000_000,
            "The number of commits that the history holds: for watches that resume, and for past "
                + "values."
        ),
        .integer(
            "history-bytes",
            \.byteCountMax,
            1...1_125_899_906_842_624,
            unit: .bytes,
            "The maximum length of the replaced and deleted values that the history holds."
        ),
    ]
}
