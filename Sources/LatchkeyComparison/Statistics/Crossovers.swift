import Foundation

/// Where one strategy overtakes another as threads are added or reads become more frequent.
package enum Crossovers {
    /// All crossovers between the cases' strategies.
    ///
    /// Two strategies cross between two measured points if one is ahead at the first, the other at
    /// the second, and the intervals do not overlap at either; points without a difference in
    /// between belong to neither. An open loop has none: its throughput is the rate that was asked
    /// for. Over threads the place is where the fitted curves cross, if they
    /// do so between the two points; else, and over read ratios, where straight lines between the
    /// measured logarithms do.
    package static func among(
        _ cases: [ComparisonReport.Case],
        fits: [ComparisonReport.ScalingFit]
    ) -> [ComparisonReport.Crossover] {
        let closed = cases.filter { $0.workload.arrival == .closed }
        return overThreads(closed, fits) + overReadRatios(closed)
    }

    /// One strategy along an axis.
    private struct Line {
        var strategy: String
        var points: [(at: Double, spread: ComparisonReport.Spread)]
        var curve: ScalabilityCurve?
    }

    /// What cases have in common that differ by their read ratio only.
    private struct Situation: Hashable {
        var workload: ComparisonReport.Workload
        var threads: Int
    }

    private static func overThreads(
        _ cases: [ComparisonReport.Case],
        _ fits: [ComparisonReport.ScalingFit]
    ) -> [ComparisonReport.Crossover] {
        cases.grouped(by: \.workload).flatMap { cases -> [ComparisonReport.Crossover] in
            let workload = cases[0].workload
            let lines = cases.sweeps.map { sweep in
                Line(
                    strategy: sweep[0].strategy,
                    points: sweep.map { (Double($0.threads), $0.summary.operationsPerSecond) },
                    curve: fits.first {
                        $0.strategy == sweep[0].strategy && $0.workload == workload
                    }?.curve
                )
            }
            return crossings(lines).map { at, below, above in
                ComparisonReport.Crossover(
                    axis: .threads,
                    workload: workload,
                    at: at,
                    fasterBelow: below,
                    fasterAbove: above
                )
            }
        }
    }

    private static func overReadRatios(
        _ cases: [ComparisonReport.Case]
    ) -> [ComparisonReport.Crossover] {
        func situation(_ found: ComparisonReport.Case) -> Situation {
            var workload = found.workload
            workload.readRatio = 0
            return Situation(workload: workload, threads: found.threads)
        }
        return cases.grouped(by: situation).flatMap { cases -> [ComparisonReport.Crossover] in
            let situation = situation(cases[0])
            let lines = cases.grouped(by: \.strategy).map { cases in
                Line(
                    strategy: cases[0].strategy,
                    points: cases.sorted { $0.workload.readRatio < $1.workload.readRatio }.map {
                        ($0.workload.readRatio, $0.summary.operationsPerSecond)
                    }
                )
            }
            return crossings(lines).map { at, below, above in
                ComparisonReport.Crossover(
                    axis: .readRatio,
                    workload: situation.workload,
                    threads: situation.threads,
                    at: at,
                    fasterBelow: below,
                    fasterAbove: above
                )
            }
        }
    }

    private static func crossings(
        _ lines: [Line]
    ) -> [(at: Double, below: String, above: String)] {
        let sorted = lines.sorted { $0.strategy < $1.strategy }
        var found: [(at: Double, below: String, above: String)] = []
        for (index, first) in sorted.enumerated() {
            for second in sorted[(index + 1)...] {
                found += crossings(first, second)
            }
        }
        return found
    }

    private static func crossings(
        _ first: Line,
        _ second: Line
    ) -> [(at: Double, below: String, above: String)] {
        // The last point at which one of the two was ahead beyond the noise.
        var last: (at: Double, isFirstAhead: Bool, lead: Double)?
        var found: [(at: Double, below: String, above: String)] = []
        for point in first.points {
            guard let other = second.points.first(where: { $0.at == point.at }),
                !point.spread.overlaps(other.spread),
                point.spread.median > 0, other.spread.median > 0
            else { continue }
            let lead = log(point.spread.median / other.spread.median)
            let isFirstAhead = lead > 0
            if let last, last.isFirstAhead != isFirstAhead {
                let straight = last.at + (point.at - last.at) * last.lead / (last.lead - lead)
                let at = curvesCross(first, second, from: last.at, to: point.at) ?? straight
                let names = (first.strategy, second.strategy)
                found.append(
                    last.isFirstAhead ? (at, names.0, names.1) : (at, names.1, names.0)
                )
            }
            last = (point.at, isFirstAhead, lead)
        }
        return found
    }

    /// Where the fitted curves cross between two numbers of threads, by halving.
    private static func curvesCross(
        _ first: Line,
        _ second: Line,
        from low: Double,
        to high: Double
    ) -> Double? {
        guard let one = first.curve, let two = second.curve else { return nil }
        func isFirstAhead(_ threads: Double) -> Bool {
            one.throughput(threads) > two.throughput(threads)
        }
        var (low, high) = (low, high)
        let isAheadAtLow = isFirstAhead(low)
        guard isAheadAtLow != isFirstAhead(high) else { return nil }
        for _ in 0..<50 {
            let middle = (low + high) / 2
            if isFirstAhead(middle) == isAheadAtLow {
                low = middle
            } else {
                high = middle
            }
        }
        return (low + high) / 2
    }
}
