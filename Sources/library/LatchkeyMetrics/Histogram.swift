/// The upper bounds of a histogram's buckets, in whole units of what is observed.
package struct HistogramBounds: Sendable {
    /// Ascending; a value equal to a bound is in its bucket.
    ///
    /// One more bucket, without a bound, takes the values above the last.
    package let values: [UInt64]
    /// One observed unit in the metric's base unit: 1e-9 for nanoseconds in seconds.
    package let scale: Scale
    /// The bounds in the base unit, as the `le` label has them.
    let texts: [String]

    /// The conversion of an observed number to the metric's.
    package enum Scale: Sendable {
        case one
        case nanosecondsInSeconds

        package func convert(_ value: UInt64) -> Double {
            switch self {
            case .one: Double(value)
            // Divided, not multiplied by 1e-9: 100 is then exactly the number 1e-07.
            case .nanosecondsInSeconds: Double(value) / 1e9
            }
        }
    }

    package init(_ values: [UInt64], scale: Scale) {
        precondition(
            !values.isEmpty && zip(values, values.dropFirst()).allSatisfy { $0 < $1 },
            "The bounds of a histogram ascend."
        )
        self.values = values
        self.scale = scale
        texts = values.map { "\(scale.convert($0))" } + ["+Inf"]
    }

    /// Bounds in nanoseconds, from 50 microseconds to 10 seconds: for requests.
    package static let requestDurations = HistogramBounds(
        [
            50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000,
            25_000_000, 50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000,
            2_500_000_000, 5_000_000_000, 10_000_000_000,
        ],
        scale: .nanosecondsInSeconds
    )

    package var bucketCount: Int { values.count + 1 }
}

/// Counts of values between fixed bounds, and their sum.
///
/// A handle, kept per thread like a ``Counter``: observing takes no lock and allocates at a
/// thread's first touch only.
package struct Histogram: Sendable {
    package let bounds: HistogramBounds
    let words: PerThreadCounters
    /// The first bucket's word; the others follow, and then the sum.
    let offset: Int

    static func wordCount(_ bounds: HistogramBounds) -> Int {
        bounds.bucketCount + 1
    }

    init(bounds: HistogramBounds, words: PerThreadCounters, offset: Int) {
        self.bounds = bounds
        self.words = words
        self.offset = offset
    }

    /// A histogram outside any registry.
    package init(bounds: HistogramBounds) {
        let words = PerThreadCounters(wordCount: Self.wordCount(bounds))
        self.init(bounds: bounds, words: words, offset: 0)
    }

    /// Counts `value` in its bucket, `weight` times if it is a sample for several values.
    package func observe(_ value: UInt64, weight: UInt64 = 1) {
        // The first bound that is not below the value, by halving.
        var (bucket, end) = (0, bounds.values.count)
        while bucket < end {
            let middle = (bucket + end) / 2
            if value > bounds.values[middle] {
                bucket = middle + 1
            } else {
                end = middle
            }
        }
        words.add(weight, at: offset + bucket)
        words.add(value &* weight, at: offset + bounds.bucketCount)
    }

    /// The values so far, each bucket for itself.
    package var reading: HistogramReading {
        HistogramReading(
            buckets: (0..<bounds.bucketCount).map { words.sum(at: offset + $0) },
            sum: bounds.scale.convert(words.sum(at: offset + bounds.bucketCount))
        )
    }
}

/// A histogram's content at one moment.
package struct HistogramReading: Sendable, Equatable {
    /// The number of values in each bucket, not accumulated.
    package var buckets: [UInt64]
    /// The sum of the values in the metric's base unit.
    package var sum: Double

    package init(buckets: [UInt64], sum: Double) {
        self.buckets = buckets
        self.sum = sum
    }

    var isEmpty: Bool { buckets.allSatisfy { $0 == 0 } }
}
