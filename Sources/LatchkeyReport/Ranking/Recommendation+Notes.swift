internal import LatchkeyComparison

// The list that can be skipped: who else was as good, what else matters, which rows are doubtful.

extension ComparisonReport.Recommendation {
    // MARK: What throughput does not say

    /// What is to be known of the run itself, whatever is recommended.
    static func conditionNotes(_ report: ComparisonReport) -> [String] {
        var notes: [String] = []
        report.earlyEnd.map { notes.append($0) }
        if let trace = report.settings.trace, trace.isCutOff {
            notes.append(
                "The trace ends in the middle of a record: its \(trace.operations) whole records "
                    + "are replayed."
            )
        }
        return notes
    }

    private static let namedCountMax = 3

    static func notes(
        _ report: ComparisonReport,
        _ headline: Headline,
        _ name: String
    ) -> [String] {
        let ranking = headline.ranking
        var notes: [String] = []
        if report.conditions.ranking == .forced {
            let findings = report.conditions.findings
            let noun = findings.count == 1 ? "Problem" : "Problems"
            notes.append(
                "Ranked because of --force. \(noun): \(findings.joined(separator: " "))"
            )
        }
        notes += conditionNotes(report)
        notes += besides(report, headline, name)
        notes += unranked(report, ranking)
        notes += unsteady(report, ranking)
        let greatest = ranking.situations.max { $0.threads < $1.threads }
        let ranked = ranking.overall.map(\.strategy)
        let peers = report.cases.filter {
            Ranking.Situation($0) == greatest && ranked.contains($0.strategy)
        }
        guard let own = peers.first(where: { $0.strategy == name }) else { return notes }
        return notes + tradeOffs(own, peers, isThroughput: ranking.figure == .throughput)
    }

    /// What was left out of the order, and why.
    static func unranked(_ report: ComparisonReport, _ ranking: Ranking) -> [String] {
        let measured = report.cases.map(\.strategy)
        let missing = report.settings.strategies.map(\.rawValue).filter { !measured.contains($0) }
        return ranking.excluded.map { "`\($0.strategy)` \($0.reason) and is not ranked." }
            + (missing.isEmpty
                ? []
                : [
                    "\(FigureText.names(missing)) \(missing.count == 1 ? "was" : "were") not "
                        + "measured."
                ])
    }

    static func passedOver(_ headline: Headline) -> [ComparisonReport.PassedOver] {
        guard let current = headline.current else { return [] }
        return headline.faster.compactMap { other in
            other.obstacle.map { obstacle in
                let gain = headline.ranking.figure.gain(other.ratio.value, over: current)
                return ComparisonReport.PassedOver(
                    strategy: other.strategy,
                    reason: "`\(other.strategy)` is passed over (\(gain) over all cases): "
                        + "\(obstacle.text)."
                )
            }
        }
    }

    /// How the strategy that is named stands to the others.
    private static func besides(
        _ report: ComparisonReport,
        _ headline: Headline,
        _ name: String
    ) -> [String] {
        let (ranking, asGood) = (headline.ranking, headline.asGood)
        let figure = ranking.figure
        var notes: [String] = []
        let asked = report.settings.currentStrategy.rawValue
        if headline.isStandIn, let current = headline.current {
            notes.append("`\(asked)` is not ranked: `\(current)` stands in for it.")
        }
        if let current = headline.current, current != name,
            let ratio = headline.ratio(name, to: current)
        {
            notes.append(
                "`\(name)` over all cases: \(figure.gain(ratio.value, over: current)) "
                    + "\(interval(figure, ratio))."
            )
        }
        if let current = headline.current, let modes = ModeGains(report, name, current) {
            notes.append(modes.sentence(figure, over: current))
        }
        if !asGood.isEmpty {
            notes.append("As good, within 10 %: \(FigureText.names(asGood)).")
        }
        let order = ranking.overall.map(\.strategy)
        if let next = order.firstIndex(of: name).flatMap({ order.dropFirst($0 + 1).first }),
            !asGood.contains(next), let ratio = headline.ratio(name, to: next), ratio.value > 1
        {
            notes.append("Next best: `\(next)` (`\(name)`: \(figure.gain(ratio.value))).")
        }
        notes += perhapsBetter(headline, name).map { other, ratio in
            let reason = headline.obstacle(other).map { ", but \($0.text)" } ?? ""
            return (headline.isBetter(ratio) ? "Better" : "Perhaps better")
                + ": `\(other)`: \(figure.gain(ratio.value)) \(interval(figure, ratio))\(reason)."
        }
        let slow = avoidedBesides(report, headline)
        if !slow.isEmpty {
            notes.append("Not to be used here either: \(FigureText.names(slow)).")
        }
        return notes
    }

    /// Of how much faster one strategy is than another.
    private static func interval(_ figure: RankedFigure, _ ratio: SpeedRatio) -> String {
        let ends = [ratio.low, ratio.high].map(figure.change)
        return "(95 % interval: \(ends[0]) to \(ends[1]))"
    }

    /// What has a better figure by at least 10 %, and is not told of elsewhere.
    private static func perhapsBetter(
        _ headline: Headline,
        _ name: String
    ) -> [(String, SpeedRatio)] {
        let passedOver = headline.faster.filter { $0.obstacle != nil }.map(\.strategy)
        return headline.ranking.overall.map(\.strategy).compactMap { other in
            guard other != name, !passedOver.contains(other),
                let ratio = headline.ratio(other, to: name), ratio.value > Headline.gainMin
            else { return nil }
            return (other, ratio)
        }
    }

    /// Cases whose repeats disagree.
    private static func unsteady(_ report: ComparisonReport, _ ranking: Ranking) -> [String] {
        var notes: [String] = []
        let bistable = report.cases.filter(ranking.figure.isBistable)
        if !bistable.isEmpty {
            notes.append(
                "\(FigureText.names(bistable.map(\.strategy).uniqued())) had two modes (~): the "
                    + "interval of such a case begins at its slowest repeat."
            )
        }
        let slow = report.cases.compactMap { entry in
            ranking.figure.slowRepeat(entry).map { speed in
                "`\(entry.strategy)` \(WorkloadText.threads(entry.threads, entry.workload)) "
                    + "(\(ranking.figure.text(ofSpeed: speed)))"
            }
        }
        guard !slow.isEmpty else { return notes }
        let left = slow.count - namedCountMax
        let named = slow.prefix(namedCountMax).joined(separator: ", ")
        guard slow.count > 1 else {
            return notes + [
                "One repeat was far slower than the others (!): \(named). It is left out of the "
                    + "lower end of the interval."
            ]
        }
        return notes + [
            "In \(slow.count) cases one repeat was far slower than the others "
                + "(!), and is left out of the lower end of the interval: \(named)"
                + (left > 0 ? ", and \(left) more." : ".")
        ]
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
