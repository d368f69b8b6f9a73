package import LatchkeySettings

/// The bounds of a journal's history.
package struct HistoryLimits: Sendable, Hashable {
    /// How many bytes the history may keep: commits, and the properties that they replaced.
    package var byteCountMax: Int

    package init(byteCountMax: Int = 32 << 20) {
        self.byteCountMax = byteCountMax
    }

    /// The part of commits that only remove what has expired.
    var expiryByteCountMax: Int { byteCountMax / 4 }

    /// The part of all other commits.
    var changeByteCountMax: Int { byteCountMax - expiryByteCountMax }
}

extension HistoryLimits: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .integer(
            "history-bytes",
            \.byteCountMax,
            1...1_125_899_906_842_624,
            unit: .bytes,
            "The memory of the history, for watches that resume and for past values: 128 bytes for "
                + "a change, and what it replaced or deleted, each with its name and 64 bytes. A "
                + "quarter is for what expired."
        )
    ]
}
