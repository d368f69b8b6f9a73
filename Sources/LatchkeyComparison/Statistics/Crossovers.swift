import Foundation

/// Where one strategy overtakes another as threads are added or reads become more frequent.
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

    fileprivate struct Crossing {
        /// The last measured point at which one is ahead, and the first at which the other is.
        var from: Double
        var to: Double
        var at: Double
        var fasterBelow: String
        var fasterAbove: String
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
            return crossings(lines).map {
                ComparisonReport.Crossover($0, axis: .threads, workload: workload)
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
            return crossings(lines).map {
                ComparisonReport.Crossover(
                    $0,
                    axis: .readRatio,
                    workload: situation.workload,
                    threads: situation.threads
                )
            }
        }
    }

    private static func crossings(_ lines: [Line]) -> [Crossing] {
        let sorted = lines.sorted { $0.strategy < $1.strategy }
        var found: [Crossing] = []
        for (index, first) in sorted.enumerated() {
            for second in sorted[(index + 1)...] {
                found += crossings(first, second)
            }
        }
        return found
    }

    private static func crossings(_ first: Line, _ second: Line) -> [Crossing] {
        // The last point at which one of the two was ahead beyond the noise.
        var last: (at: Double, isFirstAhead: Bool, lead: Double)?
        var found: [Crossing] = []
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
                found.append(
                    Crossing(
                        from: last.at,
                        to: point.at,
                        at: at,
                        fasterBelow: (last.isFirstAhead ? first : second).strategy,
                        fasterAbove: (last.isFirstAhead ? second : first).strategy
                    )
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

extension ComparisonReport.Crossover {
    fileprivate init(
        _ crossing: Crossovers.Crossing,
        axis: Axis,
        workload: ComparisonReport.Workload,
        threads: Int? = nil
    ) {
        self.init(
            axis: axis,
            workload: workload,
            threads: threads,
            from: crossing.from,
            to: crossing.to,
            at: crossing.at,
            fasterBelow: crossing.fasterBelow,
            fasterAbove: crossing.fasterAbove
        )
    }
}
