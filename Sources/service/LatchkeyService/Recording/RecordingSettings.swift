package import LatchkeySettings

/// The choices of `--record`.
package struct RecordingSettings: Sendable {
    /// The file to record into; empty if nothing is recorded.
    package var path = ""
    /// One operation in this many is recorded, on average.
    package var sampleInterval = 16
    /// The recording ends before its file is larger.
    package var byteCountMax = 64 << 20

    package init() {}
}

extension RecordingSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .path(
            "record",
            \.path,
            "A new file of at most 64 MiB for one live operation in 16, without names and "
                + "values, or none. 'latchkey compare --trace' reads it."
        )
    ]
}
