package import LatchkeySettings

/// The settings of the limit on each client's requests.
package struct RateSettings: Sendable {
    /// The consequence for a request beyond the rate.
    package enum Mode: String, CaseIterable, Sendable {
        case refuse
        case count
    }

    /// Requests a second; nil for no limit.
    package var rate: Int?
    /// The maximum of requests at once; nil for those of a second.
    package var burst: Int?
    package var mode = Mode.refuse

    package init() {}
}

extension RateSettings: Configurable {
    package static let standard = Self()

    package static let countMax = 1_000_000

    package static let settings: [Setting<Self>] = [
        Setting(
            "rate",
            .spelling(
                placeholder: "N",
                help: "a whole number from 1 to \(countMax), or none",
                isRight: { $0 == "none" || isCount($0) }
            ),
            \.rate,
            "The requests a second that each client, a token or else an address, may send, or "
                + "none for no limit. Further ones get status 429 with Retry-After. Probes and "
                + "/metrics are not counted.",
            text: { $0.map { "\($0)" } ?? "none" },
            value: { .some(Int($0)) }
        ),
        .choice(
            "rate-mode",
            \.mode,
            "Whether requests beyond --rate get status 429, or are only counted. The counter is "
                + "latchkey_rate_exceeded_total."
        ),
    ]

    package static func isCount(_ text: String) -> Bool {
        Int(text).map { 1...countMax ~= $0 } ?? false
    }
}
