import CLatchkeySystem
import LatchkeyMetrics
import Synchronization

/// The durations of a slice's operations in an open loop.
///
/// **Design.** A histogram with buckets of a sixteenth of an octave: a quantile is off by at
/// most 6 %. Each operation is recorded by the thread that completes it, in words of its own. The
/// longest one is raised atomically; relaxed, because it is read when everything has completed.
final class ResponseTimes: Sendable {
    private let histogram = Histogram(bounds: ResponseTimes.bounds)
    private let longest = Atomic<UInt64>(0)

    /// The greatest duration in each bucket: the first sixteen nanoseconds have a bucket each, and
    /// so has each sixteenth of an octave above them.
    private static let bounds: HistogramBounds = {
        let octaves = (0..<59).flatMap { octave in
            (17...32 as ClosedRange<UInt64>).map { $0 << octave - 1 }
        }
        return HistogramBounds(Array(0..<16) + octaves, scale: .one)
    }()

    func record(_ nanoseconds: UInt64) {
        histogram.observe(nanoseconds)
        longest.max(nanoseconds, ordering: .relaxed)
    }

    /// The figures; `nil` if nothing was recorded.
    ///
    /// Operations that were due and had not begun count as having taken until the end, the least
    /// time that they can take.
    func durations(unbegun: [UnbegunOperations] = []) -> ComparisonReport.Durations? {
        let reading = histogram.reading
        var counts = reading.buckets
        let bounds = Self.bounds.values
        for late in unbegun {
            var below: UInt64 = 0
            for (index, bound) in bounds.enumerated() where below < late.count {
                let reached = late.count(upTo: bound)
                counts[index] += reached - below
                below = reached
            }
        }
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        let longest = unbegun.map(\.longest).reduce(longest.load(ordering: .relaxed), max)
        let sum = unbegun.reduce(reading.sum) { $0 + $1.sum }
        func quantile(_ share: Double) -> Double {
            let rank = UInt64((share * Double(total)).rounded(.up))
            var below: UInt64 = 0
            for (bound, count) in zip(bounds, counts) {
                below += count
                if below >= rank {
                    return Double(min(longest, bound))
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
/// Calculated, so that a rate that no strategy keeps up with costs nothing to record.
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
@usableFromInline
struct ResponseTiming: Sendable {
    let intendedAt: UInt64
    let startedAt: UInt64
    let responses: Responses

    init(intendedAt: UInt64, startedAt: UInt64, responses: Responses) {
        self.intendedAt = intendedAt
        self.startedAt = startedAt
        self.responses = responses
        responses.startDelays.record(startedAt &- min(startedAt, intendedAt))
    }

    /// Records the operation as ended now.
    @usableFromInline
    func end() {
        end(at: latchkey_system_nanoseconds())
    }

    /// Records the operation as ended.
    func end(at now: UInt64) {
        responses.fromStart.record(now &- startedAt)
        responses.fromIntended.record(now &- min(now, intendedAt))
    }
}

/// The durations of a slice's operations, from both starts.
struct Responses: Sendable {
    let fromStart = ResponseTimes()
    let fromIntended = ResponseTimes()
    /// From the intended start to the real one.
    let startDelays = ResponseTimes()
}
