internal import LatchkeyStore

/// How fast the history drops its oldest commits: when it will pass a place.
struct HistoryPassing {
    /// The minimum time over which a speed is measured.
    static let windowNanoseconds: UInt64 = 10_000_000

    private var oldest: Revision = 0
    private var noted: UInt64 = 0
    private var passedCount: UInt64 = 0
    private var passedNanoseconds: UInt64 = 1

    /// Notes the lowest revision after which all commits are held.
    mutating func note(_ oldest: Revision, _ now: UInt64) {
        guard noted == 0 || now >= noted + Self.windowNanoseconds else { return }
        if noted > 0 {
            passedCount = oldest - self.oldest
            passedNanoseconds = now - noted
        }
        self.oldest = oldest
        noted = now
    }

    /// The time until the history passes a place, in nanoseconds; nil if it holds still.
    func time(until place: Revision) -> UInt64? {
        guard passedCount > 0 else {
            return nil
        }
        let count = place > oldest ? place - oldest : 0
        let nanoseconds = Double(count) * Double(passedNanoseconds) / Double(passedCount)
        return UInt64(exactly: nanoseconds.rounded()) ?? .max
    }
}
