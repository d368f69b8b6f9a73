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
        Setting(
            "record",
            .spelling(placeholder: "FILE", help: "the path of a new file, below 4096 bytes") {
                $0.utf8.count < 4096
            },
            \.path,
            "Records a share of the live operations into a new file, for 'latchkey compare "
                + "--trace', without names and values.",
            text: { $0 },
            value: { $0 }
        ),
        Setting(
            "record-sample",
            .share(1...65_536),
            \.sampleInterval,
            "The share of the operations that is recorded, each chosen at random.",
            text: { "1/\($0)" },
            value: { Int($0.dropFirst(2)) }
        ),
        .integer(
            "record-bytes",
            \.byteCountMax,
            4096...1 << 40,
            unit: .bytes,
            "The size at which the recording ends. One operation takes 16 bytes."
        ),
    ]
}
