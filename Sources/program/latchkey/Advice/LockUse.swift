/// The use of the lock of one strategy, over some time.
struct LockUse: Equatable {
    /// The timed ones, scaled up to all.
    struct Timed: Equatable {
        var count = 0.0
        var seconds = 0.0

        /// `nil` if none was timed.
        var mean: Double? { count > 0 ? seconds / count : nil }
    }

    /// Entries into the guarded section.
    var operations = 0.0
    var contended = 0.0
    var wait = Timed()
    var hold = Timed()
    /// The number of waits up to each limit in seconds.
    var waitBuckets: [Double: Double] = [:]
    /// The same for holds.
    var holdBuckets: [Double: Double] = [:]

    /// A limit that this share of the waits does not exceed, in seconds.
    func waitBound(_ share: Double) -> Double? { Self.bound(share, waitBuckets) }

    /// The same for the holds.
    func holdBound(_ share: Double) -> Double? { Self.bound(share, holdBuckets) }

    private static func bound(_ share: Double, _ buckets: [Double: Double]) -> Double? {
        guard let all = buckets[.infinity], all > 0 else { return nil }
        return buckets.keys.sorted().first { buckets[$0, default: 0] >= share * all }
    }

    static func - (later: Self, earlier: Self) -> Self {
        var result = later
        for field in [
            \Self.operations, \.contended, \.wait.count, \.wait.seconds, \.hold.count,
            \.hold.seconds,
        ] {
            result[keyPath: field] -= earlier[keyPath: field]
        }
        for buckets in [\Self.waitBuckets, \.holdBuckets] {
            for (bound, count) in earlier[keyPath: buckets] {
                result[keyPath: buckets][bound, default: 0] -= count
            }
        }
        return result
    }
}
