/// The use of the lock of one strategy, in one role, over some time.
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
    /// Those of them that read.
    var reads = 0.0
    var contended = 0.0
    var wait = Timed()
    var hold = Timed()
    /// The number of waits up to each bound in seconds.
    var waitBuckets: [Double: Double] = [:]
    /// The same of holds.
    var holdBuckets: [Double: Double] = [:]

    /// The time that an operation waits for the lock and holds it, in seconds.
    ///
    /// `nil` if nothing was timed.
    var cost: Double? {
        guard let wait = wait.mean, let hold = hold.mean else { return nil }
        return wait + hold
    }

    /// A bound that this share of the waits does not exceed, in seconds.
    func waitBound(_ share: Double) -> Double? { Self.bound(share, waitBuckets) }

    /// The same of the holds.
    func holdBound(_ share: Double) -> Double? { Self.bound(share, holdBuckets) }

    private static func bound(_ share: Double, _ buckets: [Double: Double]) -> Double? {
        guard let all = buckets[.infinity], all > 0 else { return nil }
        return buckets.keys.sorted().first { buckets[$0, default: 0] >= share * all }
    }

    static func + (first: Self, second: Self) -> Self { first.combined(second, +) }

    static func - (later: Self, earlier: Self) -> Self { later.combined(earlier, -) }

    private func combined(_ other: Self, _ combine: (Double, Double) -> Double) -> Self {
        var result = self
        for field in [
            \Self.operations, \.reads, \.contended, \.wait.count, \.wait.seconds, \.hold.count,
            \.hold.seconds,
        ] {
            result[keyPath: field] = combine(self[keyPath: field], other[keyPath: field])
        }
        for buckets in [\Self.waitBuckets, \.holdBuckets] {
            let (own, others) = (self[keyPath: buckets], other[keyPath: buckets])
            for bound in Set(own.keys).union(others.keys) {
                result[keyPath: buckets][bound] = combine(
                    own[bound, default: 0],
                    others[bound, default: 0]
                )
            }
        }
        return result
    }
}
