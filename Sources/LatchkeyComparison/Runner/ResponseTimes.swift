import CLatchkeySystem
import Synchronization

/// The durations of one thread's operations in an open loop.
///
/// **Design.** Buckets of a sixteenth of an octave, so that a quantile is off by at most 6 %. What
/// completes later is recorded by the thread that completes it, so the counts are added atomically;
/// relaxed, because they are read when everything has completed.
///
/// SAFETY: `@safe` because the class alone allocates and frees the buckets, and every index comes
/// from `bucket(_:)`, which is below their number.
@safe
final class ResponseTimes: @unchecked Sendable {
    private static let subdivisions: UInt64 = 16
    /// 64 octaves; the first sixteen nanoseconds have a bucket each.
    private static let bucketCount = 64 * Int(subdivisions)

    private let buckets: UnsafeMutablePointer<Atomic<UInt64>>
    private let sum = Atomic<UInt64>(0)
    private let longest = Atomic<UInt64>(0)

    init() {
        unsafe buckets = .allocate(capacity: Self.bucketCount)
        for index in 0..<Self.bucketCount {
            unsafe (buckets + index).initialize(to: Atomic(0))
        }
    }

    deinit {
        unsafe buckets.deallocate()
    }

    func record(_ nanoseconds: UInt64) {
        unsafe buckets[Self.bucket(nanoseconds)].add(1, ordering: .relaxed)
        sum.wrappingAdd(nanoseconds, ordering: .relaxed)
        longest.max(nanoseconds, ordering: .relaxed)
    }

    static func bucket(_ nanoseconds: UInt64) -> Int {
        guard nanoseconds >= subdivisions else { return Int(nanoseconds) }
        let octave = UInt64.bitWidth - 1 - nanoseconds.leadingZeroBitCount
        let inside = nanoseconds >> UInt64(octave - 4) & (subdivisions - 1)
        return (octave - 3) * Int(subdivisions) + Int(inside)
    }

    /// The greatest duration in a bucket.
    static func upperBound(_ bucket: Int) -> UInt64 {
        let (row, inside) = bucket.quotientAndRemainder(dividingBy: Int(subdivisions))
        guard row > 0 else { return UInt64(inside) }
        return (subdivisions + UInt64(inside) + 1) << UInt64(row - 1) - 1
    }

    /// The figures of all threads together; `nil` if nothing was recorded.
    ///
    /// Operations that were due and had not begun count as having taken until the end: at least so
    /// long it did take.
    static func durations(
        _ all: [ResponseTimes],
        unbegun: [UnbegunOperations] = []
    ) -> ComparisonReport.Durations? {
        var counts = [UInt64](repeating: 0, count: bucketCount)
        for times in all {
            for index in 0..<bucketCount {
                counts[index] += unsafe times.buckets[index].load(ordering: .relaxed)
            }
        }
        for late in unbegun {
            var below: UInt64 = 0
            for index in 0..<bucketCount where below < late.count {
                let reached = late.count(upTo: upperBound(index))
                counts[index] += reached - below
                below = reached
            }
        }
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        let longest =
            (all.map { $0.longest.load(ordering: .relaxed) } + unbegun.map(\.longest)).max() ?? 0
        let sum = all.reduce(unbegun.reduce(0) { $0 + $1.sum }) {
            $0 + Double($1.sum.load(ordering: .relaxed))
        }
        func quantile(_ share: Double) -> Double {
            let rank = UInt64((share * Double(total)).rounded(.up))
            var below: UInt64 = 0
            for (index, count) in counts.enumerated() {
                below += count
                if below >= rank {
                    return Double(min(longest, upperBound(index)))
                }
            }
            return Double(longest)
        }
        return ComparisonReport.Durations(
            timedCount: Int(total),
            meanNanoseconds: sum / Double(total),
            p50Nanoseconds: quantile(0.5),
            p90Nanoseconds: quantile(0.9),
            p99Nanoseconds: quantile(0.99),
            p999Nanoseconds: total >= Quantiles.rareCountMin ? quantile(0.999) : nil,
            maxNanoseconds: Double(longest)
        )
    }
}

/// The operations of a thread that were due before the end of its slice and did not begin: each of
/// them `interval` nanoseconds after the one before, the first one `longest` before the end.
///
/// Known by arithmetic, so that a rate which nobody keeps up with costs nothing to account for.
struct UnbegunOperations: Sendable, Equatable {
    let count: UInt64
    let longest: UInt64
    private let interval: Double

    init(firstIntendedAt: UInt64, interval: Double, until end: UInt64) {
        self.interval = interval
        longest = end > firstIntendedAt ? end - firstIntendedAt : 0
        count = longest > 0 ? UInt64((Double(longest) / interval).rounded(.up)) : 0
    }

    /// The number of them that were due at most this many nanoseconds before the end.
    func count(upTo nanoseconds: UInt64) -> UInt64 {
        guard nanoseconds < longest else { return count }
        // Those that were due earlier, and so have waited for longer.
        let longer = (Double(longest - nanoseconds) / interval).rounded(.up)
        return count - min(count, UInt64(longer))
    }

    /// In nanoseconds, of all together.
    var sum: Double {
        Double(count) * (Double(longest) - interval * (Double(count) - 1) / 2)
    }
}

enum Quantiles {
    /// The fewest values whose p99.9 means anything.
    static let rareCountMin = 1_000
}

/// The two starts of one operation: when it was due, and when it began.
struct ResponseTiming: Sendable {
    let intendedAt: UInt64
    let startedAt: UInt64
    let fromIntended: ResponseTimes
    let fromStart: ResponseTimes

    /// Records the operation as ended now.
    func end() {
        let now = latchkey_system_nanoseconds()
        fromStart.record(now &- startedAt)
        fromIntended.record(now &- min(now, intendedAt))
    }
}
