/// How long a replica waits before it asks its leader again: twice as long after each failure, up
/// to a limit.
struct RetryPause {
    static let millisecondsMin = 100
    static let millisecondsMax = 5000

    private var milliseconds = millisecondsMin

    /// The next pause: half of the time to all of it, so that the replicas of one leader do not ask
    /// at the same time.
    mutating func next() -> Duration {
        defer { milliseconds = min(2 * milliseconds, Self.millisecondsMax) }
        return .milliseconds(Int.random(in: milliseconds / 2...milliseconds))
    }

    /// The leader has answered.
    mutating func restart() { milliseconds = Self.millisecondsMin }
}
