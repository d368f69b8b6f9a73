import Foundation
import LatchkeyMachine

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
}

extension [ComparisonReport.Repeat] {
    /// The repeats of a case, of which those are left out during which the processors were moved.
    ///
    /// On several threads, and as long as enough others are left: half of all, and as many as can
    /// be ranked. One thread hands no line to another.
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
