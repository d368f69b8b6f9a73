package import LatchkeyComparison
internal import LatchkeyStrategies

extension ComparisonReport {
    /// Decides whether the figures can be ranked, and what they recommend.
    ///
    /// Figures of fewer repeats than can be told from chance are not ranked.
    ///
    /// - Parameter isForced: whether to rank under whatever conditions, and say so.
    package mutating func conclude(isForced: Bool) {
        let fewest = cases.map(\.repeats.count).min() ?? Conditions.repeatsMin
        if fewest < Conditions.repeatsMin {
            let finding =
                "A case has \(FigureText.counted(fewest, "repeat")): with fewer than "
                + "\(Conditions.repeatsMin), a difference cannot be distinguished from chance."
            if !conditions.findings.contains(finding) { conditions.findings.append(finding) }
            conditions.ranking = .refused
        }
        if isForced, conditions.ranking == .refused { conditions.ranking = .forced }
        recommendation = Recommendation(self)
    }
}

extension ComparisonReport.Recommendation {
    /// Decides what to recommend from what was measured.
    package init(_ report: ComparisonReport) {
        self.init()
        let ranking = Ranking(report)
        let leaders = Ranking.leaders(ranking.overall)
        guard report.conditions.ranking != .refused, let best = leaders.first,
            ranking.overall.count > 1
        else {
            let reason = Self.refusal(report, excluded: ranking.excluded)
            sentence = "Nothing is recommended, because \(reason)"
            return
        }
        strategies = leaders.map(\.strategy)
        let isOne = strategies.count == 1
        outcome = isOne ? .one : .several
        sentence =
            (isOne
                ? "Use `\(best.strategy)`: "
                : "No difference was found between \(FigureText.names(strategies)): ")
            + WorkloadText.place(of: ranking.situations) + " "
            + ranking.figure.predicate(of: best.speed, isOne: isOne)
            + (ranking.situations.count > 1 ? " (geometric mean)" : "")
            + Self.margin(ranking, leaders) + "."
        flip = Self.flip(report, ranking, strategies)
        notes = Self.notes(report, ranking, best: best.strategy)
    }

    private static func refusal(
        _ report: ComparisonReport,
        excluded: [(strategy: String, reason: String)]
    ) -> String {
        guard report.conditions.ranking != .refused else {
            return "these figures cannot be ranked. "
                + report.conditions.findings.joined(separator: " ")
                + " --force ranks them anyway, and says so."
        }
        let measured = report.cases.map(\.strategy)
        let missing = report.settings.strategies.map(\.rawValue).filter { !measured.contains($0) }
        var reasons = excluded.map { "`\($0)` \($1)" }
        if !missing.isEmpty {
            let verb = missing.count == 1 ? "was" : "were"
            reasons.append("\(FigureText.names(missing)) \(verb) not measured")
        }
        return reasons.isEmpty
            ? "a comparison needs at least two strategies."
            : "no two strategies can be ranked: " + reasons.joined(separator: ", ") + "."
    }

    /// By how much the leaders are better than the rest.
    private static func margin(_ ranking: Ranking, _ leaders: [Ranking.Standing]) -> String {
        let rest = ranking.overall.filter { !leaders.contains($0) }
        guard let next = rest.first else { return "" }
        if leaders.count == 1 {
            let best = leaders[0]
            return ", \(ranking.lead(best.speed, over: next.speed)) "
                + "\(ranking.figure == .throughput ? "more" : "less") than the next best, "
                + "`\(next.strategy)` (interval: \(ranking.lead(best.low, over: next.high)) to "
                + "\(ranking.lead(best.high, over: next.low)))"
        }
        let ahead = leaders.filter { $0.isAhead(of: next) }.map(\.strategy)
        guard ahead.count < leaders.count else {
            return ", ahead of `\(next.strategy)`" + (rest.count == 1 ? "" : " and the rest")
        }
        return "; of these \(FigureText.names(ahead)) \(ahead.count == 1 ? "is" : "are") ahead "
            + "of `\(next.strategy)`"
    }

    // MARK: What would change the answer

    private static let flipCountMax = 3

    private static func flip(
        _ report: ComparisonReport,
        _ ranking: Ranking,
        _ leaders: [String]
    ) -> String {
        let phrases = ranking.situations.compactMap { situation -> String? in
            guard let standings = ranking.standings[situation],
                let best = standings.first(where: { leaders.contains($0.strategy) }),
                let first = standings.first(where: { $0.isAhead(of: best) })
            else { return nil }
            let more = ranking.lead(first.speed, over: best.speed)
            if let crossing = crossing(report, situation, best.strategy, first.strategy) {
                let threads = WorkloadText.threads(situation.threads, situation.workload)
                return "\(crossing) `\(first.strategy)` is ahead (by \(more) \(threads))"
            }
            let place = WorkloadText.difference(of: situation, among: ranking.situations)
            return "\(place) `\(first.strategy)` is ahead (by \(more))"
        }
        guard !phrases.isEmpty else {
            let count = ranking.situations.count
            return "Nothing in this run changes the answer: "
                + (count == 1
                    ? "only one case was measured."
                    : "no other strategy is ahead beyond the noise in any of the \(count) cases.")
        }
        let left = phrases.count - flipCountMax
        return "The answer changes: " + phrases.prefix(flipCountMax).joined(separator: "; ")
            + (left > 0 ? "; and in \(FigureText.counted(left, "more case"))." : ".")
    }

    /// Where the two strategies' curves cross, if the report has it and `situation` lies on the
    /// side on which `other` is ahead.
    private static func crossing(
        _ report: ComparisonReport,
        _ situation: Ranking.Situation,
        _ recommended: String,
        _ other: String
    ) -> String? {
        let onThreads = report.crossovers.filter {
            $0.axis == .threads && $0.workload == situation.workload
        }
        for crossing in onThreads {
            let isBelow = Double(situation.threads) <= crossing.from
            let pair = [crossing.fasterBelow, crossing.fasterAbove]
            if pair == (isBelow ? [other, recommended] : [recommended, other]) {
                return "\(isBelow ? "below" : "above") about \(FigureText.fixed(crossing.at, 1)) "
                    + "\(WorkloadText.threadNoun(crossing.workload))s"
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
            let findings = report.conditions.findings
            let noun = findings.count == 1 ? "Problem" : "Problems"
            notes.append(
                "Ranked because of --force. \(noun): \(findings.joined(separator: " "))"
            )
        }
        if report.isInterrupted {
            notes.append("The run was interrupted: only the finished part is shown.")
        }
        notes += ranking.excluded.map { "`\($0)` \($1) and is not ranked." }
        let bistable = report.cases.filter { ranking.figure.worseMode($0) != nil }
        if !bistable.isEmpty {
            notes.append(
                "\(FigureText.names(bistable.map(\.strategy).uniqued())) had two modes; such a "
                    + "case is ranked by its worse mode."
            )
        }
        let greatest = ranking.situations.max { $0.threads < $1.threads }
        let ranked = ranking.overall.map(\.strategy)
        let peers = report.cases.filter {
            Ranking.Situation($0) == greatest && ranked.contains($0.strategy)
        }
        guard let own = peers.first(where: { $0.strategy == best }) else { return notes }
        return notes + tradeOffs(own, peers, isThroughput: ranking.figure == .throughput)
    }

    private static func tradeOffs(
        _ own: ComparisonReport.Case,
        _ peers: [ComparisonReport.Case],
        isThroughput: Bool
    ) -> [String] {
        /// Who has the least of a figure, if that is less than `factor` of the own one.
        func rival(
            _ factor: Double,
            _ figure: (ComparisonReport.Case) -> Double?
        )
            -> (name: String, theirs: Double, ours: Double)?
        {
            let figures = peers.compactMap { peer in figure(peer).map { (peer.strategy, $0) } }
            guard let ours = figure(own), let least = figures.min(by: { $0.1 < $1.1 }),
                least.1 < ours * factor
            else { return nil }
            return (least.0, least.1, ours)
        }
        let place = WorkloadText.threads(own.threads, own.workload)
        var notes: [String] = []
        if let wait = rival(0.5, { $0.waitsForItself ? nil : $0.summary.wait?.p99Nanoseconds }) {
            notes.append(
                "If long waits matter more than \(isThroughput ? "throughput" : "the response"): "
                    + "`\(wait.name)` has a p99 wait of "
                    + "\(FigureText.quantile(nanoseconds: wait.theirs)) \(place), "
                    + "`\(own.strategy)` \(FigureText.quantile(nanoseconds: wait.ours))."
            )
        }
        if let cost = rival(0.8, \.summary.cpuSecondsPerMillionOperations) {
            notes.append(
                "If processor time matters more: `\(cost.name)` takes "
                    + "\(FigureText.duration(nanoseconds: cost.theirs * 1_000)) per operation "
                    + "\(place), `\(own.strategy)` "
                    + "\(FigureText.duration(nanoseconds: cost.ours * 1_000))."
            )
        }
        if let jainIndex = own.summary.jainIndex, jainIndex < 0.9 {
            notes.append(
                "`\(own.strategy)` is not fair \(place): Jain's index is "
                    + "\(FigureText.fixed(jainIndex, 2)), and 1 would be fair."
            )
        }
        return notes
    }
}
