package import LatchkeyComparison
internal import LatchkeySync

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
            self.init(refusedBecause: Self.nothingToCompare(report, ranking))
            return
        }
        let names = leaders.map(\.strategy)
        let rest = ranking.overall.filter { !names.contains($0.strategy) }
        let place = WorkloadText.place(of: ranking.situations)
        let mean = ranking.situations.count > 1 ? " in the geometric mean" : ""
        let isOne = leaders.count == 1
        var sentence =
            (isOne
                ? "Use `\(best.strategy)`: "
                : "No difference was found between \(FigureText.names(names)): ")
            + "\(place) " + ranking.figure.predicate(best.value, isOne: isOne) + mean
        if let next = rest.first {
            sentence += Self.margin(leaders, over: next, isLast: rest.count == 1)
        }
        sentence += "."
        self.init(
            outcome: isOne ? .one : .several,
            strategies: names,
            sentence: sentence,
            flip: Self.flip(report, ranking, leaders: names),
            notes: Self.notes(report, ranking, best: best.strategy)
        )
    }

    private init(refusedBecause sentence: String) {
        self.init(outcome: .refused, strategies: [], sentence: sentence, flip: "", notes: [])
    }

    private static func nothingToCompare(
        _ report: ComparisonReport,
        _ ranking: Ranking
    ) -> String {
        let measured = report.cases.map(\.strategy)
        let missing = report.settings.strategies.map(\.rawValue).filter { !measured.contains($0) }
        var reasons = ranking.excluded.map { "`\($0)` \($1)" }
        if !missing.isEmpty {
            let verb = missing.count == 1 ? "was" : "were"
            reasons.append("\(FigureText.names(missing)) \(verb) not measured")
        }
        return reasons.isEmpty
            ? "Nothing is recommended, because one needs two to compare."
            : "Nothing is recommended, because no two strategies can be ranked: "
                + reasons.joined(separator: ", ") + "."
    }

    private static func margin(
        _ leaders: [Ranking.Standing],
        over next: Ranking.Standing,
        isLast: Bool
    ) -> String {
        guard leaders.count == 1, let best = leaders.first else {
            let ahead = leaders.filter { $0.isAhead(of: next) }.map(\.strategy)
            guard ahead.count < leaders.count else {
                return ", ahead of `\(next.strategy)`" + (isLast ? "" : " and the rest")
            }
            return "; of these \(FigureText.names(ahead)) \(ahead.count == 1 ? "is" : "are") ahead "
                + "of `\(next.strategy)`"
        }
        let figure = best.figure
        let bounds = [
            figure.lead(best.low, over: next.high), figure.lead(best.high, over: next.low),
        ].sorted()
        return ", \(FigureText.percent(figure.lead(best.value, over: next.value))) "
            + "\(figure.comparative) than `\(next.strategy)`, the next "
            + "(between \(FigureText.percent(bounds[0])) and \(FigureText.percent(bounds[1])))"
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
            guard let standings = ranking.standings[situation],
                let best = standings.first(where: { leaders.contains($0.strategy) }),
                let first = standings.first(where: { $0.isAhead(of: best) })
            else { continue }
            let more = FigureText.percent(ranking.figure.lead(first.value, over: best.value))
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
        return "It flips: " + shown
            + (left > 0 ? "; and in \(FigureText.counted(left, "more case"))." : ".")
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
            let noun = WorkloadText.threadsNoun(crossing.workload)
            let at = FigureText.fixed(crossing.at, 1)
            let isBelow = Double(situation.threads) <= crossing.from
            if isBelow, (crossing.fasterBelow, crossing.fasterAbove) == (other, recommended) {
                return "below about \(at) \(noun)"
            }
            if !isBelow, (crossing.fasterBelow, crossing.fasterAbove) == (recommended, other) {
                return "above about \(at) \(noun)"
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
        let bistable = report.cases.filter { ranking.figure.worseMode($0) != nil }
            .map(\.strategy).uniqued()
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
        return notes + tradeOffs(own, peers, place, ranking.figure)
    }

    private static func tradeOffs(
        _ own: ComparisonReport.Case,
        _ peers: [ComparisonReport.Case],
        _ place: String,
        _ figure: RankedFigure
    ) -> [String] {
        var notes: [String] = []
        func rival(
            _ figure: (ComparisonReport.Case) -> Double?,
            _ factor: Double
        )
            -> (name: String, theirs: Double, ours: Double)?
        {
            guard let ours = figure(own),
                let other = peers.filter({ figure($0) != nil })
                    .min(by: { figure($0) ?? 0 < figure($1) ?? 0 }),
                let theirs = figure(other), theirs < ours * factor
            else { return nil }
            return (other.strategy, theirs, ours)
        }
        func wait(_ entry: ComparisonReport.Case) -> Double? {
            entry.waitsForItself ? nil : entry.summary.wait?.p99Nanoseconds
        }
        if let (name, theirs, ours) = rival(wait, 0.5) {
            let other = figure == .throughput ? "throughput" : "the response"
            notes.append(
                "If long waits matter more than \(other): `\(name)` has a p99 wait of "
                    + "\(FigureText.quantile(nanoseconds: theirs)) \(place), `\(own.strategy)` "
                    + "\(FigureText.quantile(nanoseconds: ours))."
            )
        }
        if let (name, theirs, ours) = rival(\.summary.cpuSecondsPerMillionOperations, 0.8) {
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
