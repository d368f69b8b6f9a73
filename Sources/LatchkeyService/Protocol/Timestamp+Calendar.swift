internal import Foundation
internal import LatchkeyStore

extension Timestamp {
    /// The time in UTC as ISO 8601 has it, such as `2026-01-02T03:04:05.678Z`.
    var calendarText: String {
        // The fraction is added by hand, because a Date has binary fractions.
        let whole = Date(timeIntervalSince1970: TimeInterval(milliseconds / 1000))
        let fraction = String(milliseconds % 1000 + 1000).dropFirst()
        return "\(whole.formatted(Date.ISO8601FormatStyle()).dropLast()).\(fraction)Z"
    }
}
