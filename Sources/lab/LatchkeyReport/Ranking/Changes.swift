internal import LatchkeyComparison

// Where the order changes, and where a strategy collapses, along the measured points.

extension Ranking {
    /// The places where one strategy overtakes another.
    ///
    /// Two strategies cross between two *neighbouring* points if one is ahead at the first and the
    /// other at the second. An open loop has none: it is given a rate. None are told where ranking
    /// is refused.
    var crossovers: [ComparisonReport.Crossover] {
        guard !isRefused, figure == .throughput else { return [] }
        return overThreads + overReadRatios
    }

    private var overThreads: [ComparisonReport.Crossover] {
        situations.map(\.workload).uniqued().flatMap { workload in
            neighbours(situations.filter { $0.workload == workload }.map(\.threads)).flatMap {
                from,
                to in
                overtakings(
                    from: Situation(threads: from, workload: workload),
                    to: Situation(threads: to, workload: workload)
                ).map { pair in
                    ComparisonReport.Crossover(
                        axis: .threads,
                        workload: workload,
                        from: Double(from),
                        to: Double(to),
                        fasterBelow: pair.below,
                        fasterAbove: pair.above
                    )
                }
            }
        }
    }

    private var overReadRatios: [ComparisonReport.Crossover] {
        func rest(_ situation: Situation) -> Situation { situation.reading(0) }
        return situations.map(rest).uniqued().flatMap { common in
            let ratios = situations.filter { rest($0) == common }.map(\.workload.readRatio)
            return neighbours(ratios).flatMap { from, to in
                overtakings(from: common.reading(from), to: common.reading(to)).map { pair in
                    ComparisonReport.Crossover(
                        axis: .readRatio,
                        workload: common.workload,
                        threads: common.threads,
                        from: from,
                        to: to,
                        fasterBelow: pair.below,
                        fasterAbove: pair.above
                    )
                }
            }
        }
    }

    private func neighbours<Value: Comparable & Hashable>(
        _ values: [Value]
    ) -> [(Value, Value)] {
        let sorted = Set(values).sorted()
        return Array(zip(sorted, sorted.dropFirst()))
    }

    /// The pairs of strategies of which one is ahead in the first situation and the other in the
    /// second.
    private func overtakings(
        from: Situation,
        to: Situation
    ) -> [(below: String, above: String)] {
        let (first, second) = (standings[from] ?? [], standings[to] ?? [])
        return first.flatMap { leader in
            first.compactMap { other in
                guard isAhead(leader, of: other),
                    let overtaken = second.first(where: { $0.strategy == leader.strategy }),
                    let overtaking = second.first(where: { $0.strategy == other.strategy }),
                    isAhead(overtaking, of: overtaken)
                else { return nil }
                return (leader.strategy, other.strategy)
            }
        }
    }

    /// A fall by more than this factor is a cliff.
    static let cliffRatio = 3.0

    /// The cliffs, the deepest first: the throughput falls by more than a factor of 3 between two
    /// neighbouring numbers of threads, beyond the noise.
    ///
    /// Short slices hide a convoy, so that a fall from rounds to repeats can be greater than it is.
    /// It is told no greater than that from repeats to repeats, nor than that in the table.
    var cliffs: [ComparisonReport.Cliff] {
        guard !isRefused, figure == .throughput else { return [] }
        let found = situations.map(\.workload).uniqued().flatMap { workload in
            neighbours(situations.filter { $0.workload == workload }.map(\.threads)).flatMap {
                from,
                to in
                cliffs(workload, from: from, to: to)
            }
        }
        return found.sorted { $0.ratio > $1.ratio }
    }

    private func cliffs(
        _ workload: ComparisonReport.Workload,
        from: Int,
        to: Int
    ) -> [ComparisonReport.Cliff] {
        let top = standings[Situation(threads: from, workload: workload)] ?? []
        let bottom = Situation(threads: to, workload: workload)
        return top.compactMap { before in
            guard let after = standing(before.strategy, in: bottom), isAhead(before, of: after)
            else { return nil }
            let high = min(before.speed, before.repeatsSpeed)
            let low = max(after.speed, after.repeatsSpeed)
            guard high > Self.cliffRatio * low else { return nil }
            return ComparisonReport.Cliff(
                strategy: before.strategy,
                workload: workload,
                threads: (from, to),
                operationsPerSecond: (high, low)
            )
        }
    }
}

extension Ranking.Situation {
    fileprivate func reading(_ ratio: Double) -> Self {
        var situation = self
        situation.workload.readRatio = ratio
        return situation
    }
}

extension ComparisonReport.Cliff {
    var ratio: Double { fromOperationsPerSecond / toOperationsPerSecond }
}
