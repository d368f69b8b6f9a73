/// Times to live as seconds with up to three decimals, such as `0.25`.
package enum TimeToLiveText {
    /// Ten years of 365 days, in milliseconds.
    package static let millisecondsMax: TimeToLive = 315_360_000_000

    /// The bounds, for messages.
    package static let rule =
        "must be a number of seconds above 0, with at most 3 decimals and at most 315360000"

    /// Parses digits and at most three decimals; nil for anything else and out of bounds.
    package static func milliseconds(_ text: some Sequence<UInt8>) -> TimeToLive? {
        var total: TimeToLive = 0
        var decimals: Int?
        var isEmpty = true
        for byte in text {
            switch byte {
            case UInt8(ascii: ".") where decimals == nil && !isEmpty:
                decimals = 0
                isEmpty = true
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard decimals ?? 0 < 3, total <= millisecondsMax else {
                    return nil
                }
                total = total * 10 + TimeToLive(byte - UInt8(ascii: "0"))
                decimals = decimals.map { $0 + 1 }
                isEmpty = false
            default:
                return nil
            }
        }
        guard !isEmpty else {
            return nil
        }
        for _ in (decimals ?? 0)..<3 {
            guard total <= millisecondsMax else {
                return nil
            }
            total *= 10
        }
        return (1...millisecondsMax).contains(total) ? total : nil
    }

    /// The same of a JSON number, in any spelling.
    static func milliseconds(_ number: JSONView) -> TimeToLive? {
        number.integer(timesTenTo: 3).flatMap { (1...millisecondsMax).contains($0) ? $0 : nil }
    }

    /// The text of what is left until the expiry, never below 0.
    package static func text(until expiry: Timestamp, at time: Timestamp) -> String {
        let left = max(0, expiry.milliseconds - time.milliseconds)
        let decimals = String(left % 1000 + 1000).dropFirst()
        return "\(left / 1000).\(decimals)"
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
