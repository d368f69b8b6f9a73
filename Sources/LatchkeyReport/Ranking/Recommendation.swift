package import LatchkeyComparison
internal import LatchkeyStrategies

extension ComparisonReport {
    /// Decides whether the figures can be ranked, where the order changes, and what to recommend.
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
        let ranking = Ranking(self)
        crossovers = ranking.crossovers
        cliffs = ranking.cliffs
        recommendation = Recommendation(self)
    }
}

extension ComparisonReport.Recommendation {
    /// Decides what to recommend from what was measured.
    package init(_ report: ComparisonReport) {
        self.init()
        let ranking = Ranking(report)
        let headline = Headline(report, ranking)
        // A cliff needs no other strategy to be news.
        if !ranking.isRefused { news = Self.news(report, ranking) }
        guard !ranking.isRefused, ranking.overall.count > 1, let name = headline.strategy,
            let best = ranking.overall.first(where: { $0.strategy == name })
        else {
            if !ranking.isRefused { passedOver = Self.passedOver(ranking, headline, nil) }
            let reason = Self.refusal(report, ranking, headline)
            sentence = "Nothing is recommended, because \(reason)"
            notes = Self.conditionNotes(report)
            return
        }
        let others = headline.tied.map(\.strategy).filter { $0 != name }
        strategies = [name] + others
        outcome = others.isEmpty ? .one : .several
        passedOver = Self.passedOver(ranking, headline, best)
        sentence = Self.sentence(ranking, headline, best, others)
        flip = Self.flip(ranking, best, passedOver)
        notes = Self.notes(report, ranking, best: name)
    }

    private static func refusal(
        _ report: ComparisonReport,
        _ ranking: Ranking,
        _ headline: Headline
    ) -> String {
        guard !ranking.isRefused else {
            return "these figures cannot be ranked. "
                + report.conditions.findings.joined(separator: " ")
                + " --force ranks them anyway, and says so."
        }
        if ranking.overall.count > 1 {
            return "no strategy is fit: "
                + headline.passedOver.map { "`\($0.standing.strategy)`: \($0.reason)" }
                .joined(separator: "; ") + "."
        }
        let measured = report.cases.map(\.strategy)
        let missing = report.settings.strategies.map(\.rawValue).filter { !measured.contains($0) }
        var reasons = ranking.excluded.map { "`\($0.strategy)` \($0.reason)" }
        if !missing.isEmpty {
            let verb = missing.count == 1 ? "was" : "were"
            reasons.append("\(FigureText.names(missing)) \(verb) not measured")
        }
        return reasons.isEmpty
            ? "a comparison needs at least two strategies."
            : "no two strategies can be ranked: " + reasons.joined(separator: ", ") + "."
    }

    // MARK: What comes first

    private static let newsCountMax = 3

    private static func news(_ report: ComparisonReport, _ ranking: Ranking) -> [String] {
        let cliffs = ranking.cliffs
        let isOneWorkload = ranking.situations.map(\.workload).uniqued().count == 1
        let sentences = cliffs.prefix(newsCountMax).map { cliff in
            let noun = WorkloadText.threadNoun(cliff.workload)
            let count = FigureText.count
            let place = isOneWorkload ? "" : " (\(WorkloadText.description(cliff.workload)))"
            return "`\(cliff.strategy)` collapses between \(cliff.fromThreads) and "
                + "\(cliff.toThreads) \(noun)s\(place): \(count(cliff.fromOperationsPerSecond)) to "
                + "\(count(cliff.toOperationsPerSecond)) operations per second."
        }
        let others = cliffs.dropFirst(newsCountMax).map(\.strategy).uniqued()
        guard !others.isEmpty else { return sentences }
        let factor = FigureText.fixed(Ranking.cliffRatio, 0)
        return sentences + [
            "Falls by more than a factor of \(factor) between neighbouring points also: "
                + "\(FigureText.names(others)) (`cliffs` in the JSON)."
        ]
    }

    // MARK: Which to use, and by how much

    private static func sentence(
        _ ranking: Ranking,
        _ headline: Headline,
        _ best: Standing,
        _ others: [String]
    ) -> String {
        var text = "Use `\(best.strategy)`: "
        var place = WorkloadText.place(of: ranking.situations)
        if !others.isEmpty {
            let names = FigureText.names([best.strategy] + others)
            let reason =
                headline.reasons.isEmpty
                ? "has the interval that begins highest"
                : "is " + headline.reasons.joined(separator: " and, of the rest, ")
            text += "no difference was found between \(names), and of these it \(reason). "
            place = place.prefix(1).uppercased() + place.dropFirst()
        }
        text += "\(place) \(ranking.figure.predicate(of: best.speed))"
        text += cases(ranking, best.strategy) + margins(ranking, best, headline) + "."
        return text
    }

    private static func passedOver(
        _ ranking: Ranking,
        _ headline: Headline,
        _ best: Standing?
    ) -> [ComparisonReport.PassedOver] {
        headline.passedOver.map { passed in
            let own = passed.standing
            let lead =
                best.map { best in
                    ranking.isAhead(own, of: best)
                        ? "although it is ahead by \(FigureText.excess(own.speed / best.speed)), "
                        : ""
                } ?? ""
            return ComparisonReport.PassedOver(
                strategy: own.strategy,
                reason: "`\(own.strategy)` is passed over, \(lead)because \(passed.reason)."
            )
        }
    }

    private static let casesShownMax = 8

    /// The figures behind a mean, since a mean over cases can hide a collapse in one of them.
    private static func cases(_ ranking: Ranking, _ strategy: String) -> String {
        guard ranking.situations.count > 1 else { return "" }
        let figures = ranking.situations.compactMap { situation in
            ranking.standing(strategy, in: situation).map { (situation, $0.speed) }
        }
        func text(_ figure: (Ranking.Situation, Double)) -> String {
            let place = WorkloadText.difference(of: figure.0, among: ranking.situations)
            return "\(ranking.figure.text(ofSpeed: figure.1)) \(place)"
        }
        guard figures.count > casesShownMax else {
            return " (geometric mean: \(figures.map(text).joined(separator: ", ")))"
        }
        let sorted = figures.sorted { $0.1 < $1.1 }
        let ends = [sorted.first, sorted.last].compactMap { $0.map(text) }
        return " (geometric mean of \(figures.count) cases, from \(ends.joined(separator: " to ")))"
    }

    /// By how much it is better than the next strategy, and than `lock`.
    private static func margins(
        _ ranking: Ranking,
        _ best: Standing,
        _ headline: Headline
    ) -> String {
        let passed = headline.passedOver.map(\.standing)
        let rest = ranking.overall.filter { standing in
            !headline.tied.contains(standing) && !passed.contains(standing)
        }
        let next = rest.first
        var text = ""
        if let next {
            text = ", " + margin(ranking, best, next, name: "the next best, `\(next.strategy)`")
        }
        let baseline = StrategyKind.standard.rawValue
        guard next?.strategy != baseline, best.strategy != baseline,
            let lock = ranking.overall.first(where: { $0.strategy == baseline }),
            !headline.tied.contains(lock)
        else { return text }
        return text + (text.isEmpty ? ", " : ", and ")
            + margin(ranking, best, lock, name: "`\(baseline)`")
    }

    private static func margin(
        _ ranking: Ranking,
        _ best: Standing,
        _ other: Standing,
        name: String
    ) -> String {
        guard ranking.isAhead(best, of: other) else { return "not distinguishable from \(name)" }
        let ratios = [
            best.speed / other.speed, best.low / other.high / ranking.leastRatio,
            best.high / other.low * ranking.leastRatio,
        ]
        if ranking.figure == .throughput, ratios[0] >= 2 {
            let texts = ratios.map(FigureText.count)
            return "\(texts[0]) times as many as \(name) (interval: \(texts[1]) to \(texts[2]))"
        }
        let isMore = ranking.figure == .throughput
        let texts = ratios.map { FigureText.percent(isMore ? $0 - 1 : 1 - 1 / $0) }
        return "\(texts[0]) \(isMore ? "more" : "less") than \(name) "
            + "(interval: \(texts[1]) to \(texts[2]))"
    }
}
