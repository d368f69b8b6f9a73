package import LatchkeyComparison
internal import LatchkeyVerdict

extension ComparisonReport {
    /// Decides whether the figures can be ranked, where the order changes, and what to recommend.
    ///
    /// Figures of too few repeats to be told from chance are not ranked.
    ///
    /// - Parameter isForced: whether to rank under any conditions, and say so.
    package mutating func conclude(isForced: Bool) {
        let fewest = cases.map(\.counted.count).min() ?? Conditions.repeatsMin
        if fewest < Conditions.repeatsMin {
            let finding =
                "A case has \(FigureText.counted(fewest, "repeat")): with fewer than "
                + "\(Conditions.repeatsMin), a difference cannot be distinguished from chance."
            if !conditions.findings.contains(finding) { conditions.findings.append(finding) }
            if conditions.ranking != .forced { conditions.ranking = .refused }
        }
        if isForced, conditions.ranking == .refused { conditions.ranking = .forced }
        let ranking = Ranking(self)
        crossovers = ranking.crossovers
        cliffs = ranking.cliffs
        recommendation = Recommendation(self, ranking)
    }

    /// The strategies about which more rounds can decide, and the one that they are compared with;
    /// the three that look best, so that these rounds stay few.
    package var undecided: [String] {
        let ranking = Ranking(self)
        let names = ranking.verdict.undecided
        guard !ranking.isRefused, let current = ranking.verdict.current, !names.isEmpty else {
            return []
        }
        return names.prefix(3) + [current]
    }
}

extension ComparisonReport.Recommendation {
    /// The verdict on the figures, in the form of the report.
    fileprivate init(_ report: ComparisonReport, _ ranking: Ranking) {
        self.init()
        let verdict = ranking.verdict
        guard !ranking.isRefused else {
            sentence = "Nothing is recommended: these figures cannot be ranked."
            flip = "--force ranks them anyway, and says so."
            notes = report.conditions.findings + Self.conditionNotes(report)
            return
        }
        let failures = report.verdicts.filter { $0.outcome == .failed }.map {
            ($0.strategy, $0.isHang ? "does not return" : "fails the check '\($0.check.rawValue)'")
        }
        let asked = report.settings.currentStrategy.rawValue
        guard verdict.ranked.count > 1, let name = verdict.strategy,
            let text = VerdictText(verdict, asked: asked, failures: failures)
        else {
            // A cliff can be reported without another strategy.
            news = VerdictText.news(verdict.avoided(failures))
            sentence = Self.refusal(report)
            notes = Self.unranked(report, verdict) + Self.conditionNotes(report)
            return
        }
        let others = verdict.asGood
        strategies = [name] + others
        current = verdict.current
        outcome = others.isEmpty ? .one : .several
        passedOver = zip(verdict.passedOver, text.passedOver).map {
            .init(strategy: $0.strategy, reason: $1)
        }
        sensitivity = verdict.sensitivity.flatMap { $0.isFinite ? $0 : nil }
        ratios = verdict.ranked.compactMap { other in
            guard let current, other != current, let ratio = verdict.ratio(other, to: current),
                ratio.high.isFinite
            else { return nil }
            return .init(strategy: other, ratio: ratio.value, low: ratio.low, high: ratio.high)
        }
        (sentence, flip, news) = (text.sentence, text.flip, text.news)
        notes =
            Self.forced(report) + Self.conditionNotes(report) + text.notes
            + Self.unranked(report, verdict) + WaitAdvice.notes(report, verdict, name)
    }

    private static func refusal(_ report: ComparisonReport) -> String {
        let isAlone = report.cases.map(\.strategy).uniqued().count < 2
        let reason =
            isAlone && report.settings.strategies.count < 2
            ? "a comparison needs at least two strategies." : "no two strategies can be ranked."
        return "Nothing is recommended: \(reason)"
    }

    private static func forced(_ report: ComparisonReport) -> [String] {
        guard report.conditions.ranking == .forced else { return [] }
        let findings = report.conditions.findings
        let noun = findings.count == 1 ? "Problem" : "Problems"
        return ["Ranked because of --force. \(noun): \(findings.joined(separator: " "))"]
    }

    /// Notes on the run itself, whatever is recommended.
    private static func conditionNotes(_ report: ComparisonReport) -> [String] {
        var notes: [String] = []
        report.earlyEnd.map { notes.append($0) }
        if let trace = report.settings.trace, trace.isCutOff {
            notes.append(
                "The trace ends in the middle of a record: its \(trace.operations) whole records "
                    + "are replayed."
            )
        }
        let planned = report.settings.repeats * ComparisonReport.Rounds.perRepeat
        let again = report.cases.filter { $0.rounds?.operationsPerSecond.count ?? 0 > planned }
            .map(\.strategy).uniqued()
        if !again.isEmpty {
            notes.append(
                "Measured in as many rounds again, because it was undecided which one is better: "
                    + "\(FigureText.names(again))."
            )
        }
        return notes
    }

    /// The strategies that were left out of the order, and why.
    private static func unranked(_ report: ComparisonReport, _ verdict: Verdict) -> [String] {
        let measured = report.cases.map(\.strategy)
        let missing = report.settings.strategies.map(\.rawValue).filter { !measured.contains($0) }
        let verb = missing.count == 1 ? "was" : "were"
        return verdict.excluded.map { "`\($0.strategy)` \($0.reason) and is not ranked." }
            + (missing.isEmpty ? [] : ["\(FigureText.names(missing)) \(verb) not measured."])
    }
}

/// Facts beside throughput: waits, processor time and fairness, at the most threads.
///
/// It is advice, and decides nothing.
private enum WaitAdvice {
    /// With a p99 wait below this, a shorter one is not mentioned.
    private static let waitNanosecondsMin = 10e3

    static func notes(
        _ report: ComparisonReport,
        _ verdict: Verdict,
        _ name: String
    ) -> [String] {
        let most = report.cases.max { $0.threads < $1.threads }.map(VerdictTable.Situation.init)
        let entries = report.cases.filter { VerdictTable.Situation($0) == most }
        guard let own = entries.first(where: { $0.strategy == name }),
            let index = report.cases.map(VerdictTable.Situation.init).uniqued()
                .firstIndex(of: VerdictTable.Situation(own))
        else { return [] }
        let place = verdict.text(index)
        // A strategy that may not be used is not advised for its waits either.
        let peers = entries.filter {
            verdict.ranked.contains($0.strategy) && !verdict.isBarred($0.strategy)
        }
        return waits(own, peers, verdict, place) + costs(own, peers, verdict, place)
            + fairness(own, place)
    }

    /// The strategies with far shorter waits in the p99, and no wait longer than the longest one.
    private static func waits(
        _ own: ComparisonReport.Case,
        _ peers: [ComparisonReport.Case],
        _ verdict: Verdict,
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
                + (verdict.table.figure == .throughput ? "throughput: " : "the response: ")
                + "\(verdict.told(best.name)) has a p99 wait of "
                + "\(FigureText.quantile(nanoseconds: best.wait.p99Nanoseconds)) \(place), "
                + "`\(own.strategy)` \(FigureText.quantile(nanoseconds: ours.p99Nanoseconds))."
        ]
    }

    private static func costs(
        _ own: ComparisonReport.Case,
        _ peers: [ComparisonReport.Case],
        _ verdict: Verdict,
        _ place: String
    ) -> [String] {
        let costs = peers.compactMap { peer in
            peer.summary.cpuSecondsPerMillionOperations.map { (name: peer.strategy, cost: $0) }
        }
        guard let ours = own.summary.cpuSecondsPerMillionOperations,
            let least = costs.min(by: { $0.cost < $1.cost }), least.cost < 0.8 * ours
        else { return [] }
        return [
            "If processor time matters more: \(verdict.told(least.name)) takes "
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
