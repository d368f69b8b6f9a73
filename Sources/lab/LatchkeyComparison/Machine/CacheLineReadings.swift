import Foundation
import LatchkeyMachine
internal import LatchkeyVerdict

extension ComparisonReport.CacheLine {
    /// Without a reading, and why there will be none.
    init(_ probe: CacheLineProbe) {
        self.init()
        if probe.pairs.isEmpty {
            missingBecause = "There is no pair: this process may run on one processor only."
        } else {
            missingBecause = "Other threads kept the processors busy."
        }
    }

    /// Takes the readings of a run.
    mutating func take(_ readings: [Double]) {
        guard !readings.isEmpty else { return }
        missingBecause = nil
        averageNanoseconds = exp(readings.reduce(0) { $0 + log($1) } / Double(readings.count))
    }

    /// From this ratio of two readings on, the processors were moved between them.
    static let jumpRatio = 2.0

    /// Whether the processors were moved between some of these readings.
    static func jumps(_ readings: [Double]) -> Bool {
        guard let least = readings.min(), let most = readings.max() else { return false }
        return most >= jumpRatio * least
    }

    /// A sentence that the processors were moved; nil if at most one reading in ten differs.
    ///
    /// A hypervisor does so where others want its processors. Then the result is a mixture of two
    /// machines, and the next run has another mixture.
    static func movement(_ readings: [Double]) -> String? {
        let sorted = readings.sorted()
        guard let near = sorted.dropFirst(sorted.count / 10).first,
            let far = sorted.dropLast(sorted.count / 10).last, jumps([near, far])
        else { return nil }
        let times = [near, far].map { FigureText.duration(nanoseconds: $0) }
        return "The processors were moved: a cache line took \(times[0]) in one part of the run, "
            + "\(times[1]) in another. Another run can name another strategy."
    }
}

extension [ComparisonReport.Repeat] {
    /// The repeats of a case; those during which the processors were moved are marked as left out.
    ///
    /// On several threads, and as long as enough others are left: half of all, and enough to be
    /// ranked. One thread hands no line to another.
    func marked(threads: Int) -> Self {
        let moved = indices.filter {
            ComparisonReport.CacheLine.jumps(self[$0].lineNanoseconds ?? [])
        }
        let left = count - moved.count
        guard threads > 1, left >= ComparisonReport.Conditions.repeatsMin, 2 * left >= count else {
            return self
        }
        var marked = self
        for index in moved { marked[index].isLeftOut = true }
        return marked
    }
}
