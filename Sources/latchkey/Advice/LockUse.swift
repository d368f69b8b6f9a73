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

    /// The time that an operation waits for the lock and holds it, in seconds.
    ///
    /// `nil` if nothing was timed.
    var cost: Double? {
        guard let wait = wait.mean, let hold = hold.mean else { return nil }
        return wait + hold
    }

    /// A bound that this share of the waits does not exceed, in seconds.
    func waitBound(_ share: Double) -> Double? {
        guard let all = waitBuckets[.infinity], all > 0 else { return nil }
        return waitBuckets.keys.sorted().first { waitBuckets[$0, default: 0] >= share * all }
    }

    static func + (first: Self, second: Self) -> Self { combined(first, second, +) }

    static func - (later: Self, earlier: Self) -> Self { combined(later, earlier, -) }

    private static func combined(
        _ first: Self,
        _ second: Self,
        _ combine: (Double, Double) -> Double
    ) -> Self {
        func timed(_ path: KeyPath<Self, Timed>) -> Timed {
            Timed(
                count: combine(first[keyPath: path].count, second[keyPath: path].count),
                seconds: combine(first[keyPath: path].seconds, second[keyPath: path].seconds)
            )
        }
        var buckets = first.waitBuckets.merging(second.waitBuckets) { combine($0, $1) }
        for (bound, count) in second.waitBuckets where first.waitBuckets[bound] == nil {
            buckets[bound] = combine(0, count)
        }
        return Self(
            operations: combine(first.operations, second.operations),
            reads: combine(first.reads, second.reads),
            contended: combine(first.contended, second.contended),
            wait: timed(\.wait),
            hold: timed(\.hold),
            waitBuckets: buckets
        )
    }
}
