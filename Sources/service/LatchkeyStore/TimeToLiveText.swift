package import LatchkeyJSON
internal import LatchkeySettings

/// How long a property lives, in milliseconds.
package typealias TimeToLive = Int64

/// Times to live as seconds, such as `0.25`.
package enum TimeToLiveText {
    /// Ten years of 365 days, in milliseconds.
    package static let millisecondsMax: TimeToLive = 315_360_000_000

    /// The range, for messages.
    package static let rule = "must be a number of seconds from 0.001 to 315360000"

    /// Parses seconds, rounded to milliseconds; nil for other texts, or out of range.
    package static func milliseconds(_ text: String) -> TimeToLive? {
        SecondsText.milliseconds(text, in: 1...millisecondsMax)
    }

    /// The same for a JSON number.
    package static func milliseconds(_ number: JSONView) -> TimeToLive? {
        SecondsText.milliseconds(number.double, in: 1...millisecondsMax)
    }

    /// The text of the time until the expiry, never below 0.
    package static func text(until expiry: Timestamp, at time: Timestamp) -> String {
        SecondsText.text(milliseconds: max(0, expiry.milliseconds - time.milliseconds))
    }
}

extension JSONWriter {
    /// Writes the member `ttl` of a property that expires.
    package mutating func ttl(until expiry: Timestamp, at time: Timestamp) {
        if expiry != .never {
            member("ttl", raw: TimeToLiveText.text(until: expiry, at: time))
        }
    }
}
