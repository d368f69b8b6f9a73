/// The two groups that repeats of a bistable case fall into.
///
/// Locks have modes: the same case runs at full speed or as a convoy, depending on how the threads
/// happened to meet. The median of such repeats says only which mode came up more often.
package struct Modes: Sendable, Equatable {
    package let worse: Double
    package let better: Double

    /// The least ratio of the better group to the worse one.
    package static let ratioMin = 1.5
    /// The fewest repeats of a group: one alone may be a disturbance.
    package static let groupMin = 2
    /// Stands in for a repeat in which nothing was done, the slowest of all: half an operation a
    /// second.
    package static let valueMin = 0.5

    /// `nil` unless the greatest gap between neighbours divides the values into two groups, the
    /// medians are far enough apart, and the gap is wider than either group.
    package init?(_ values: [Double]) {
        let sorted = values.map { max($0, Self.valueMin) }.sorted()
        guard sorted.count >= 2 * Self.groupMin else { return nil }
        let splits = Self.groupMin...(sorted.count - Self.groupMin)
        guard let split = splits.max(by: { Self.gap(sorted, $0) < Self.gap(sorted, $1) }) else {
            return nil
        }
        let low = sorted[..<split]
        let high = sorted[split...]
        let gap = Self.gap(sorted, split)
        worse = Statistics.median(sorted: Array(low))
        better = Statistics.median(sorted: Array(high))
        guard better >= Self.ratioMin * worse, let least = low.first, let lowest = high.first,
            let most = high.last, let highest = low.last,
            gap > highest / least, gap > most / lowest
        else { return nil }
    }

    /// The value at `index` over the one before it.
    private static func gap(_ sorted: [Double], _ index: Int) -> Double {
        sorted[index] / sorted[index - 1]
    }
}

/// The one repeat that is far slower than all others: a disturbance, or a mode that is rare.
///
/// It is only shown: two slow repeats are a mode.
package struct SlowRepeat: Sendable, Equatable {
    package let value: Double

    /// With fewer repeats, one is too great a share to be an exception.
    package static let repeatsMin = 5

    /// `nil` unless the slowest value is as far from the next one as two modes are, and farther
    /// than that is from the greatest.
    package init?(_ values: [Double]) {
        let sorted = values.map { max($0, Modes.valueMin) }.sorted()
        guard sorted.count >= Self.repeatsMin, Modes(values) == nil, let slowest = values.min(),
            let greatest = sorted.last
        else { return nil }
        let gap = sorted[1] / sorted[0]
        guard gap >= Modes.ratioMin, gap > greatest / sorted[1] else { return nil }
        value = slowest
    }
}
