package import LatchkeySettings

/// The limits of a journal's history.
package struct HistoryLimits: Sendable, Hashable {
    /// How many bytes the history may keep: commits, and the properties that they replaced.
    package var byteCountMax: Int

    package init(byteCountMax: Int = 32 << 20) {
        self.byteCountMax = byteCountMax
    }

    /// The part for commits that only remove expired properties.
    var expiryByteCountMax: Int { byteCountMax / 4 }

    /// The part for all other commits.
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
            "The memory of the history, for watches that resume and for past values. A change "
                + "takes 128 bytes, and what it replaced or deleted takes its name, its value "
                + "and 64 bytes. A quarter is for what expired."
        )
    ]
}
