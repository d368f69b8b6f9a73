extension ComparisonReport.Recommendation {
    /// Decides what to recommend from what was measured.
    package init(_ report: ComparisonReport) {
        let ranking = Ranking(report)
        guard report.conditions.ranking != .refused else {
            let reasons = report.conditions.findings.joined(separator: " ")
            self.init(
                refusedBecause: "Nothing is recommended, because these figures cannot be ranked. "
                    + reasons + " --force ranks them all the same, and says so."
            )
            return
        }
        let leaders = Ranking.leaders(ranking.overall)
        guard let best = leaders.first, ranking.overall.count > 1 else {
            self.init(refusedBecause: "Nothing is recommended, because one needs two to compare.")
            return
        }
        let names = leaders.map(\.strategy)
        let rest = ranking.overall.dropFirst(leaders.count)
        let place = WorkloadText.place(of: ranking.situations)
        let mean = ranking.situations.count > 1 ? " in the geometric mean" : ""
        let figure = FigureText.count(best.value) + " operations per second" + mean
        var sentence =
            leaders.count == 1
            ? "Use `\(best.strategy)`: \(place) it completes \(figure)"
            : "No difference was found between \(FigureText.names(names)): \(place) they complete "
                + "about \(figure)"
        if let next = rest.first {
            sentence += Self.margin(leaders, over: next)
        }
        sentence += "."
        self.init(
            outcome: leaders.count == 1 ? .one : .several,
            strategies: names,
            sentence: sentence,
            flip: Self.flip(report, ranking, leaders: names),
            notes: Self.notes(report, ranking, best: best.strategy)
        )
    }

    private init(refusedBecause sentence: String) {
        self.init(outcome: .refused, strategies: [], sentence: sentence, flip: "", notes: [])
    }

    private static func margin(_ leaders: [Ranking.Standing], over next: Ranking.Standing) -> String
    {
        guard leaders.count == 1, let best = leaders.first else {
            return ", ahead of `\(next.strategy)` and the rest"
        }
        let low = FigureText.percent(best.low / next.high - 1)
        let high = FigureText.percent(best.high / next.low - 1)
        return ", \(FigureText.percent(best.value / next.value - 1)) more than "
            + "`\(next.strategy)`, the next (between \(low) and \(high))"
    }

    // MARK: What would change the answer

    private static let flipCountMax = 3

    private static func flip(
        _ report: ComparisonReport,
        _ ranking: Ranking,
        leaders: [String]
    ) -> String {
        var phrases: [String] = []
        for situation in ranking.situations {
            guard let standings = ranking.standings[situation], let first = standings.first else {
                continue
            }
            let ours = standings.filter { leaders.contains($0.strategy) }
            guard let best = ours.first, first.isAhead(of: best) else { continue }
            let more = FigureText.percent(first.value / best.value - 1)
            let threads = WorkloadText.threads(situation.threads, situation.workload)
            let crossing = crossover(report, situation, best.strategy, first.strategy)
            let place = WorkloadText.difference(of: situation, among: ranking.situations)
            phrases.append(
                "\(crossing ?? place) `\(first.strategy)` is ahead (by \(more)"
                    + (crossing == nil ? ")" : " \(threads))")
            )
        }
        let count = ranking.situations.count
        guard !phrases.isEmpty else {
            return count == 1
                ? "Nothing in this run flips it; only one case was measured."
                : "Nothing in this run flips it: no other strategy is ahead beyond the noise in "
                    + "any of the \(count) cases."
        }
        let shown = phrases.prefix(flipCountMax).joined(separator: "; ")
        let left = phrases.count - flipCountMax
        return "It flips: " + shown + (left > 0 ? "; and in \(left) more cases." : ".")
    }

    /// Where the two strategies' curves cross, if the report has it and `situation` lies on the
    /// side on which `other` is ahead.
    private static func crossover(
        _ report: ComparisonReport,
        _ situation: Ranking.Situation,
        _ recommended: String,
        _ other: String
    ) -> String? {
        for crossing in report.crossovers where crossing.axis == .threads {
            guard crossing.workload == situation.workload else { continue }
            let at = FigureText.fixed(crossing.at, 1)
            let isBelow = Double(situation.threads) < crossing.at
            if isBelow, (crossing.fasterBelow, crossing.fasterAbove) == (other, recommended) {
                return "below \(at) threads"
            }
            if !isBelow, (crossing.fasterBelow, crossing.fasterAbove) == (recommended, other) {
                return "above \(at) threads"
            }
        }
        return nil
    }

    // MARK: What throughput does not say

    private static func notes(
        _ report: ComparisonReport,
        _ ranking: Ranking,
        best: String
    ) -> [String] {
        var notes: [String] = []
        if report.conditions.ranking == .forced {
            let reasons = report.conditions.findings.joined(separator: " ")
            notes.append("Ranked by force, although: \(reasons)")
        }
        if report.isInterrupted {
            notes.append("The run was interrupted: this is what was finished.")
        }
        for (strategy, reason) in ranking.excluded {
            notes.append("`\(strategy)` \(reason) and is not ranked.")
        }
        let bistable = report.cases.filter(\.summary.isBistable).map(\.strategy).uniqued()
        if !bistable.isEmpty {
            notes.append(
                "\(FigureText.names(bistable)) had two modes; such a case is ranked by its worse "
                    + "one."
            )
        }
        guard let situation = ranking.situations.max(by: { $0.threads < $1.threads }),
            let standings = ranking.standings[situation]
        else { return notes }
        let ranked = standings.map(\.strategy)
        let peers = report.cases.filter {
            $0.threads == situation.threads && $0.workload == situation.workload
                && ranked.contains($0.strategy)
        }
        guard let own = peers.first(where: { $0.strategy == best }) else { return notes }
        let place = WorkloadText.threads(situation.threads, situation.workload)
        return notes + tradeOffs(own, peers, place)
    }

    private static func tradeOffs(
        _ own: ComparisonReport.Case,
        _ peers: [ComparisonReport.Case],
        _ place: String
    ) -> [String] {
        var notes: [String] = []
        func rival(
            _ figure: (ComparisonReport.Summary) -> Double?,
            _ factor: Double
        )
            -> (name: String, theirs: Double, ours: Double)?
        {
            guard let ours = figure(own.summary),
                let other = peers.filter({ figure($0.summary) != nil })
                    .min(by: { figure($0.summary) ?? 0 < figure($1.summary) ?? 0 }),
                let theirs = figure(other.summary), theirs < ours * factor
            else { return nil }
            return (other.strategy, theirs, ours)
        }
        if let (name, theirs, ours) = rival(\.wait?.p99Nanoseconds, 0.5) {
            notes.append(
                "If long waits matter more than throughput: `\(name)` has a p99 wait of "
                    + "\(FigureText.duration(nanoseconds: theirs)) \(place), `\(own.strategy)` "
                    + "\(FigureText.duration(nanoseconds: ours))."
            )
        }
        if let (name, theirs, ours) = rival(\.cpuSecondsPerMillionOperations, 0.8) {
            notes.append(
                "If processor time matters more: `\(name)` takes "
                    + "\(FigureText.duration(nanoseconds: theirs * 1_000)) an operation \(place), "
                    + "`\(own.strategy)` \(FigureText.duration(nanoseconds: ours * 1_000))."
            )
        }
        if let jainIndex = own.summary.jainIndex, jainIndex < 0.9 {
            notes.append(
                "`\(own.strategy)` shares unevenly \(place): its Jain index is "
                    + "\(FigureText.fixed(jainIndex, 2))."
            )
        }
        return notes
    }
}
