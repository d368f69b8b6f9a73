import Foundation

/// The Universal Scalability Law, fitted to throughput over threads:
/// X(n) = λn / (1 + σ(n − 1) + κn(n − 1)).
///
/// n/X(n) is linear in 1, n − 1 and n(n − 1), which makes the fit a linear one. It minimizes the
/// *relative* errors, so that a collapsed case counts as much as a fast one. σ and κ are kept from
/// below 0, where they would mean nothing.
package struct ScalabilityCurve: Sendable, Equatable {
    /// λ, in operations per second.
    var single: Double
    /// σ, as a share.
    var contention: Double
    /// κ, as a share.
    var coherency: Double

    /// The fewest different numbers of threads.
    static let pointsMin = 3

    func throughput(_ threads: Double) -> Double {
        let others = threads - 1
        return single * threads / (1 + contention * others + coherency * threads * others)
    }

    /// Beyond this factor from a measured point, the curve is not what was measured.
    static let missFactorMax = 1.5

    /// Whether the curve passes near all of the points.
    ///
    /// It does not if throughput collapses between two points: the law describes slopes only.
    package func describes(_ points: [(threads: Double, throughput: Double)]) -> Bool {
        points.allSatisfy { point in
            abs(log(throughput(point.threads) / point.throughput)) <= log(Self.missFactorMax)
        }
    }

    /// The number of threads at the curve's peak: 1 if it never rises, `nil` if it only rises.
    package var peakThreads: Double? {
        guard contention < 1 else { return 1 }
        guard coherency > 0 else { return nil }
        return max(1, ((1 - contention) / coherency).squareRoot())
    }

    /// `nil` if there are too few points, or one without throughput.
    init?(_ points: [(threads: Double, throughput: Double)]) {
        guard Set(points.map(\.threads)).count >= Self.pointsMin,
            points.allSatisfy({ $0.throughput > 0 })
        else { return nil }
        // Each equation is divided by n/X(n), so that its residual is the relative error.
        let rows = points.map { point in
            let scale = point.throughput / point.threads
            let others = point.threads - 1
            return [scale, scale * others, scale * point.threads * others]
        }
        // All choices of terms that are left at 0: with three it is simplest to try each.
        let choices = [[0, 1, 2], [0, 1], [0, 2], [0]]
        let solutions = choices.compactMap { Self.solve(rows, columns: $0) }
        let feasible = solutions.filter { $0[0] > 0 && $0[1] >= 0 && $0[2] >= 0 }
        let best = feasible.min { Self.squares(rows, $0) < Self.squares(rows, $1) }
        guard let best else { return nil }
        single = 1 / best[0]
        contention = best[1] / best[0]
        coherency = best[2] / best[0]
    }

    init(single: Double, contention: Double, coherency: Double) {
        self.single = single
        self.contention = contention
        self.coherency = coherency
    }

    private static func squares(_ rows: [[Double]], _ solution: [Double]) -> Double {
        rows.reduce(0) { sum, row in
            let error = zip(row, solution).reduce(-1) { $0 + $1.0 * $1.1 }
            return sum + error * error
        }
    }

    /// The least squares solution of `rows · x = 1` with all but the named columns at 0, by the
    /// normal equations and elimination.
    ///
    /// `nil` if they are singular.
    private static func solve(_ rows: [[Double]], columns: [Int]) -> [Double]? {
        var matrix = columns.map { column in
            columns.map { other in rows.reduce(0) { $0 + $1[column] * $1[other] } }
                + [rows.reduce(0) { $0 + $1[column] }]
        }
        let size = columns.count
        for pivot in 0..<size {
            let sizes = (pivot..<size).map { abs(matrix[$0][pivot]) }
            guard let greatest = sizes.max(), greatest > 0 else { return nil }
            let best = pivot + (sizes.firstIndex(of: greatest) ?? 0)
            matrix.swapAt(pivot, best)
            for row in 0..<size where row != pivot {
                let factor = matrix[row][pivot] / matrix[pivot][pivot]
                for column in pivot...size {
                    matrix[row][column] -= factor * matrix[pivot][column]
                }
            }
        }
        var solution = [0.0, 0.0, 0.0]
        for (index, column) in columns.enumerated() {
            solution[column] = matrix[index][size] / matrix[index][index]
        }
        return solution.allSatisfy(\.isFinite) ? solution : nil
    }
}

extension ComparisonReport.ScalingFit {
    private static let resampleCount = 1_000

    /// As many of the values as there are, each drawn from all of them.
    private static func resample(
        _ values: [Double],
        _ random: inout SeededRandom
    ) -> [Double] {
        values.indices.map { _ in values[Int.random(in: values.indices, using: &random)] }
    }

    /// Fits the cases of one strategy and workload, with bands from resampling the repeats.
    ///
    /// `nil` if there are fewer than three numbers of threads, or in an open loop, whose throughput
    /// is the rate that was asked for.
    init?(_ cases: [ComparisonReport.Case], seed: UInt64) {
        let sweep = cases.map { (Double($0.threads), $0.counted.map(\.operationsPerSecond)) }
        guard let first = cases.first, first.workload.arrival == .closed,
            let curve = ScalabilityCurve(sweep.map { ($0, Statistics.median($1)) })
        else { return nil }
        var random = SeededRandom(seed: seed)
        let curves = (0..<Self.resampleCount).compactMap { _ in
            ScalabilityCurve(
                sweep.map { ($0, Statistics.median(Self.resample($1, &random))) }
            )
        }
        func estimate(_ term: (ScalabilityCurve) -> Double) -> ComparisonReport.Estimate {
            let sorted = curves.map(term).sorted()
            return ComparisonReport.Estimate(
                value: term(curve),
                low: Statistics.quantile(Bootstrap.tail, sorted: sorted),
                high: Statistics.quantile(1 - Bootstrap.tail, sorted: sorted)
            )
        }
        // Of the logarithms, as the fit is of relative errors.
        let measured = sweep.map { log(Statistics.median($1)) }
        let mean = measured.reduce(0, +) / Double(measured.count)
        let fitted = sweep.map { log(curve.throughput($0.0)) }
        let error = zip(measured, fitted).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }
        let variation = measured.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        self.init(
            strategy: first.strategy,
            workload: first.workload,
            singleThreadOperationsPerSecond: estimate(\.single),
            contention: estimate(\.contention),
            coherency: estimate(\.coherency),
            peakThreads: curve.peakThreads,
            peakOperationsPerSecond: curve.peakThreads.map(curve.throughput),
            rSquared: variation > 0 ? max(0, 1 - error / variation) : 1
        )
    }

    package var curve: ScalabilityCurve {
        ScalabilityCurve(
            single: singleThreadOperationsPerSecond.value,
            contention: contention.value,
            coherency: coherency.value
        )
    }
}

extension ComparisonReport.Repeat {
    package var operationsPerSecond: Double {
        seconds > 0 ? Double(operations) / seconds : 0
    }
}
