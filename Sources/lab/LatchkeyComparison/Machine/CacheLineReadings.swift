import Foundation
import LatchkeyMachine

extension ComparisonReport.CacheLine {
    /// The pairs as they are now.
    init(_ probe: CacheLineProbe) {
        let pairs = probe.pairs.compactMap { pair in
            probe.nanoseconds(pair).map {
                Pair(first: pair.first, second: pair.second, roundTripNanoseconds: $0)
            }
        }
        self.init(pairs: pairs, modes: [])
        if probe.pairs.isEmpty {
            missingBecause = "There is no pair: this process may run on one processor only."
        } else if pairs.isEmpty {
            missingBecause = "Other threads kept the processors busy."
        }
    }

    /// A strip of a page has about as many columns.
    static let seriesCountMax = 200

    /// Adds what the readings of the run have in common, and returns their modes if they have two.
    ///
    /// The readings are in the order in which they were taken.
    mutating func add(_ readings: [Double]) -> CacheLineModes? {
        guard !readings.isEmpty else { return nil }
        missingBecause = nil
        let step = (readings.count + Self.seriesCountMax - 1) / Self.seriesCountMax
        series = stride(from: 0, to: readings.count, by: step).map { start in
            Statistics.median(Array(readings[start..<min(start + step, readings.count)]))
        }
        let logarithms = readings.map { log($0) }
        averageNanoseconds = exp(logarithms.reduce(0, +) / Double(readings.count))
        guard let found = CacheLineModes(readings) else {
            modes = [Mode(roundTripNanoseconds: Statistics.median(readings), share: 1)]
            return nil
        }
        let farShare = Double(readings.count(where: found.isFar)) / Double(readings.count)
        modes = [
            Mode(roundTripNanoseconds: found.near, share: 1 - farShare),
            Mode(roundTripNanoseconds: found.far, share: farShare),
        ]
        return found
    }
}

extension [ComparisonReport.Repeat] {
    /// The repeats of a case with the distance of the processors.
    ///
    /// On several threads, repeats in which it changed are left out, as long as enough others are
    /// left: half of all, and as many as can be ranked. One thread hands no line to another.
    func marked(by modes: CacheLineModes, threads: Int) -> Self {
        var marked = map { found in
            var found = found
            found.processors = modes.distance(found.lineNanoseconds ?? [])
            return found
        }
        let changed = marked.indices.filter { marked[$0].processors == .changed }
        let left = count - changed.count
        guard threads > 1, left >= ComparisonReport.Conditions.repeatsMin, 2 * left >= count else {
            return marked
        }
        for index in changed { marked[index].isLeftOut = true }
        return marked
    }

    /// Whether enough was measured at this distance of the processors to show it alone: of the
    /// rounds, or where there are none of the repeats.
    func tells(
        _ distance: ComparisonReport.ProcessorDistance,
        _ rounds: ComparisonReport.Rounds?
    ) -> Bool {
        if let rounds {
            return rounds.counted(at: distance).count >= ComparisonReport.Rounds.countedMin
        }
        return counted(at: distance).count >= ComparisonReport.Conditions.repeatsMin
    }
}
