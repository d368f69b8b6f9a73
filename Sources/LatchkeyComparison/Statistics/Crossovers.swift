import Foundation

/// The points where one strategy overtakes another as threads or reads are added.
package enum Crossovers {
    /// All crossovers between the cases' strategies.
    ///
    /// Two strategies cross between two measured points if one is ahead at the first, the other at
    /// the second, and the intervals do not overlap at either; points without a difference in
    /// between belong to neither. An open loop has none: its throughput is the rate that was asked
    /// for. Over threads the place is where the fitted curves cross, if they go by what was
    /// measured and cross between the two points; else, and over read ratios, where straight lines
    /// between the measured logarithms do.
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

    /// The common part of cases that differ by their read ratio only.
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
                let points = sweep.map { (Double($0.threads), $0.summary.operationsPerSecond) }
                let curve = fits.first {
                    $0.strategy == sweep[0].strategy && $0.workload == workload
                }?.curve
                let isDescribed = curve?.describes(points.map { ($0, $1.median) }) ?? false
                return Line(
                    strategy: sweep[0].strategy,
                    points: points,
                    curve: isDescribed ? curve : nil
                )
            }
            return crossings(lines, .threads, workload)
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
            return crossings(lines, .readRatio, situation.workload, situation.threads)
        }
    }

    private static func crossings(
        _ lines: [Line],
        _ axis: ComparisonReport.Crossover.Axis,
        _ workload: ComparisonReport.Workload,
        _ threads: Int? = nil
    ) -> [ComparisonReport.Crossover] {
        let sorted = lines.sorted { $0.strategy < $1.strategy }
        return sorted.enumerated().flatMap { index, first in
            sorted[(index + 1)...].flatMap { second in
                crossings(first, second).map { last, next, at in
                    ComparisonReport.Crossover(
                        axis: axis,
                        workload: workload,
                        threads: threads,
                        from: last.at,
                        to: next.at,
                        at: at,
                        fasterBelow: (last.lead > 0 ? first : second).strategy,
                        fasterAbove: (last.lead > 0 ? second : first).strategy
                    )
                }
            }
        }
    }

    /// A point at which one of two strategies is ahead of the other beyond the noise: the first,
    /// if the lead is above 0.
    private typealias Lead = (at: Double, lead: Double)

    /// The last lead of one, the first lead of the other, and where they cross in between.
    private static func crossings(
        _ first: Line,
        _ second: Line
    ) -> [(last: Lead, next: Lead, at: Double)] {
        let leads: [Lead] = first.points.compactMap { point in
            guard let other = second.points.first(where: { $0.at == point.at }),
                !point.spread.overlaps(other.spread),
                point.spread.median > 0, other.spread.median > 0
            else { return nil }
            return (point.at, log(point.spread.median / other.spread.median))
        }
        return zip(leads, leads.dropFirst()).compactMap { last, next in
            guard (last.lead > 0) != (next.lead > 0) else { return nil }
            let straight = last.at + (next.at - last.at) * last.lead / (last.lead - next.lead)
            return (last, next, curvesCross(first, second, from: last.at, to: next.at) ?? straight)
        }
    }

    /// The number of threads, between two, at which the fitted curves cross, by halving.
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
