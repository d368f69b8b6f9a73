internal import LatchkeyComparison

// What would change the recommendation, and what its figure does not say.

extension ComparisonReport.Recommendation {
    private static let flipCountMax = 3

    static func flip(
        _ ranking: Ranking,
        _ best: Standing,
        _ passedOver: [ComparisonReport.PassedOver]
    ) -> String {
        let passed = passedOver.map(\.strategy)
        let phrases = ranking.situations.compactMap { situation -> String? in
            guard let own = ranking.standing(best.strategy, in: situation),
                let first = ranking.standings[situation]?.first(where: { other in
                    !passed.contains(other.strategy) && ranking.isAhead(other, of: own)
                })
            else { return nil }
            let place = WorkloadText.difference(of: situation, among: ranking.situations)
            return "\(place) `\(first.strategy)` is ahead (by "
                + "\(FigureText.excess(first.speed / own.speed)))"
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

    // MARK: What throughput does not say

    /// What is to be known of the run itself, whatever is recommended.
    static func conditionNotes(_ report: ComparisonReport) -> [String] {
        var notes: [String] = []
        if report.isInterrupted {
            notes.append("The run was interrupted: only the finished part is shown.")
        }
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
        notes += conditionNotes(report)
        notes += ranking.excluded.map { "`\($0.strategy)` \($0.reason) and is not ranked." }
        notes += unsteady(report, ranking)
        let greatest = ranking.situations.max { $0.threads < $1.threads }
        let ranked = ranking.overall.map(\.strategy)
        let peers = report.cases.filter {
            Ranking.Situation($0) == greatest && ranked.contains($0.strategy)
        }
        guard let own = peers.first(where: { $0.strategy == best }) else { return notes }
        return notes + tradeOffs(own, peers, isThroughput: ranking.figure == .throughput)
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
        return notes + [
            "One repeat was far slower than the others (!): \(named)"
                + (left > 0 ? ", and in \(FigureText.counted(left, "more case"))" : "")
                + ". It is left out of the lower end of the interval."
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
