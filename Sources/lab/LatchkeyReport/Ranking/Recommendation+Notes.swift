internal import LatchkeyComparison

// The list that can be skipped: who else was near, what else matters, which rows are doubtful.

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
        guard let greatest = ranking.situations.max(by: { $0.threads < $1.threads }),
            let own = headline.entry(name, in: greatest)
        else { return notes }
        // Who breaks a limit, or copies where writes are frequent, is not to be used for more than
        // its throughput.
        let peers = ranking.overall.map(\.strategy).filter { other in
            headline.breach(other, in: ranking.situations) == nil
                && !headline.copiesTooMuch(other, ranking.situations)
        }.compactMap { headline.entry($0, in: greatest) }
        let place = WorkloadText.difference(of: greatest, among: ranking.situations)
        // On a busy machine, waits and shares are those of the other processes, too.
        let isOwn = headline.judgesLimits
        return notes + (isOwn ? waits(own, peers, headline, place) : [])
            + tradeOffs(own, peers, headline, place) + (isOwn ? fairness(own, place) : [])
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
        if !asGood.isEmpty {
            notes.append("Within 10 % of `\(name)`: \(FigureText.names(asGood)).")
        }
        let order = ranking.overall.map(\.strategy)
        if let next = order.firstIndex(of: name).flatMap({ order.dropFirst($0 + 1).first }),
            !asGood.contains(next), let ratio = headline.ratio(name, to: next), ratio.value > 1
        {
            // One within 10 % is not in the list above. That another one is slower needs no reason.
            let isNear = ratio.value < Headline.gainMin - Headline.rounding
            let obstacle = headline.obstacle(next)
            let isReason = isNear || obstacle?.kind != .slower
            let reason = isReason ? obstacle.map { ", but \($0.text)" } ?? "" : ""
            let lead =
                ratio.value < ranking.leastRatio
                ? "behind `\(name)` by less than the noise of the run"
                : "`\(name)`: \(figure.gain(ratio.value))"
            notes.append("Next best: `\(next)` (\(lead))\(reason).")
        }
        notes += perhapsBetter(headline, name).map { other, ratio in
            let reason = headline.obstacle(other).map { ", but \($0.text)" } ?? ""
            return (headline.isBetter(ratio) ? "Better" : "Perhaps better")
                + ": `\(other)`: \(figure.gain(ratio.value)) \(interval(figure, ratio))\(reason)."
        }
        let slow = avoidedBesides(report, headline)
        if !slow.isEmpty {
            notes.append("Not to be used here either: \(slow.joined(separator: "; ")).")
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
                let place = WorkloadText.difference(
                    of: Ranking.Situation(entry),
                    among: ranking.situations
                )
                return "`\(entry.strategy)` \(place) (\(ranking.figure.text(ofSpeed: speed)))"
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

    /// With a p99 wait below this, a shorter one is not mentioned.
    static let waitNanosecondsMin = 10e3

    /// Who has far shorter waits in the p99, and none that is longer than the longest one.
    private static func waits(
        _ own: ComparisonReport.Case,
        _ peers: [ComparisonReport.Case],
        _ headline: Headline,
        _ place: String
    ) -> [String] {
        guard !own.waitsForItself, let ours = own.summary.wait,
            ours.p99Nanoseconds > waitNanosecondsMin
        else { return [] }
        let others = peers.filter { !$0.waitsForItself }.compactMap { peer in
            peer.summary.wait.map { (name: peer.strategy, wait: $0) }
        }.filter { $0.wait.maxNanoseconds <= ours.maxNanoseconds }
        let best = others.min { $0.wait.p99Nanoseconds < $1.wait.p99Nanoseconds }
        guard let best, best.wait.p99Nanoseconds < 0.5 * ours.p99Nanoseconds else { return [] }
        return [
            "If long waits matter more than "
                + (headline.ranking.figure == .throughput ? "throughput: " : "the response: ")
                + "\(headline.told(best.name)) has a p99 wait of "
                + "\(FigureText.quantile(nanoseconds: best.wait.p99Nanoseconds)) \(place), "
                + "`\(own.strategy)` \(FigureText.quantile(nanoseconds: ours.p99Nanoseconds))."
        ]
    }

    private static func tradeOffs(
        _ own: ComparisonReport.Case,
        _ peers: [ComparisonReport.Case],
        _ headline: Headline,
        _ place: String
    ) -> [String] {
        let costs = peers.compactMap { peer in
            peer.summary.cpuSecondsPerMillionOperations.map { (name: peer.strategy, cost: $0) }
        }
        guard let ours = own.summary.cpuSecondsPerMillionOperations,
            let least = costs.min(by: { $0.cost < $1.cost }), least.cost < 0.8 * ours
        else { return [] }
        return [
            "If processor time matters more: \(headline.told(least.name)) takes "
                + "\(FigureText.duration(nanoseconds: least.cost * 1_000)) per operation \(place), "
                + "`\(own.strategy)` \(FigureText.duration(nanoseconds: ours * 1_000))."
        ]
    }

    private static func fairness(_ own: ComparisonReport.Case, _ place: String) -> [String] {
        guard let jainIndex = own.summary.jainIndex, jainIndex < 0.9 else { return [] }
        return [
            "`\(own.strategy)` is not fair \(place): Jain's index is "
                + "\(FigureText.fixed(jainIndex, 2)), and 1 would be fair."
        ]
    }
}
