/// How long an entry is waited for before it is sent again.
///
/// It follows what entries took lately, as the retransmission timer of TCP does (RFC 6298): their
/// smoothed time, and four times its mean deviation. An entry that was sent more than once does not
/// count, since it is not known which copy came (Karn's algorithm).
///
/// A slower log would get each entry twice. So the time is doubled until an entry comes that was
/// sent once.
struct RepetitionTime: Sendable {
    /// A longer time would hold writes up where entries are lost.
    static let nanosecondsMax: UInt64 = 2_400_000_000

    private let least: UInt64
    private var smoothed: UInt64?
    private var deviation: UInt64 = 0
    private(set) var nanoseconds: UInt64

    init(atLeast least: UInt64) {
        self.least = least
        nanoseconds = least
    }

    /// An entry that was sent once has come after this time.
    mutating func came(after time: UInt64) {
        let average: UInt64
        if let smoothed {
            let difference = smoothed > time ? smoothed - time : time - smoothed
            deviation = (3 * deviation + difference) / 4
            average = (7 * smoothed + time) / 8
        } else {
            deviation = time / 2
            average = time
        }
        smoothed = average
        // Times that are all the same leave no room for one that is a little longer.
        set(average + max(4 * deviation, least / 6))
    }

    /// An entry has come that was sent again, to the same server.
    mutating func cameAgain() { set(2 * nanoseconds) }

    private mutating func set(_ time: UInt64) {
        nanoseconds = min(max(time, least), max(Self.nanosecondsMax, least))
    }
}
