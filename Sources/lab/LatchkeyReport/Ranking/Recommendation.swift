package import LatchkeyComparison

extension ComparisonReport {
    /// Decides whether the figures can be ranked, where the order changes, and what to recommend.
    ///
    /// Figures of fewer repeats than can be told from chance are not ranked.
    ///
    /// - Parameter isForced: whether to rank under whatever conditions, and say so.
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
        recommendation = Recommendation(self)
    }
}

extension ComparisonReport.Recommendation {
    /// Line one has at most this many words.
    package static let wordCountMax = 20

    /// Decides what to recommend from what was measured.
    package init(_ report: ComparisonReport) {
        self.init()
        let ranking = Ranking(report)
        let headline = Headline(report, ranking)
        guard !ranking.isRefused else {
            sentence = "Nothing is recommended: these figures cannot be ranked."
            flip = "--force ranks them anyway, and says so."
            notes = report.conditions.findings + Self.conditionNotes(report)
            return
        }
        // A cliff needs no other strategy to be told.
        news = Self.avoided(report, headline)
        guard ranking.overall.count > 1, let name = headline.strategy else {
            sentence = Self.refusal(report, ranking)
            notes = Self.unranked(report, ranking) + Self.conditionNotes(report)
            return
        }
        let others = headline.asGood
        strategies = [name] + others
        current = headline.current
        outcome = others.isEmpty ? .one : .several
        passedOver = Self.passedOver(headline)
        sentence = Self.sentence(report, headline, name)
        flip = Self.flip(headline)
        notes = Self.notes(report, headline, name)
    }

    private static func refusal(_ report: ComparisonReport, _ ranking: Ranking) -> String {
        let isAlone = report.cases.map(\.strategy).uniqued().count < 2
        let reason =
            isAlone && report.settings.strategies.count < 2
            ? "a comparison needs at least two strategies." : "no two strategies can be ranked."
        return "Nothing is recommended: \(reason)"
    }

    // MARK: Line one

    private static func sentence(
        _ report: ComparisonReport,
        _ headline: Headline,
        _ name: String
    ) -> String {
        guard let current = headline.current else { return "" }
        let ranking = headline.ranking
        let asked = report.settings.currentStrategy.rawValue
        let subject = "`\(name)`" + (headline.copies(name) ? ", whose writers copy the value" : "")
        if let excluded = ranking.excluded.first(where: { $0.strategy == asked }) {
            return "Use \(subject): `\(asked)` \(excluded.reason)."
        }
        let absence = headline.isStandIn ? " (`\(asked)` was not measured)" : ""
        guard name != current else {
            let verb = headline.isStandIn ? "use" : "keep"
            let texts = [absence, ""].map { kept(headline, current, verb, subject, $0) }
            return texts.first { $0.wordCount <= wordCountMax } ?? texts[1]
        }
        let text = "Use \(subject): " + gain(headline, name, current)
        let whole = text + absence + "."
        return whole.wordCount <= wordCountMax ? whole : text + "."
    }

    /// That the current strategy stays, and why; `subject` is its name, and that it copies.
    private static func kept(
        _ headline: Headline,
        _ current: String,
        _ verb: String,
        _ subject: String,
        _ absence: String
    ) -> String {
        let capital = verb.prefix(1).uppercased() + verb.dropFirst()
        let keeping = "\(capital) \(subject): "
        let ranking = headline.ranking
        let kinds = headline.faster.compactMap(\.obstacle?.kind)
        if headline.isUndecided || kinds.contains(.undecided) {
            return "Too noisy to tell which is better: \(verb) \(subject)\(absence)."
        }
        if let kind = kinds.first {
            let names = headline.faster.filter { $0.obstacle != nil }.map(\.strategy)
            return keeping + reason(kinds.allSatisfy { $0 == kind } ? kind : nil, names, ranking)
                + "\(absence)."
        }
        if !headline.flips.isEmpty {
            return keeping + "no other was found better over all cases\(absence)."
        }
        let others = ranking.overall.map(\.strategy).filter { $0 != current }
        let ratios = others.compactMap { headline.ratio(current, to: $0) }
        if ranking.overall.first?.strategy == current, let next = others.first,
            let ratio = ratios.first, ratios.allSatisfy(headline.isBetter)
        {
            let gain = ranking.figure.gain(ratio.value, over: next)
            return keeping + "\(gain), the next best\(absence)."
        }
        return "\(finding(ratios, headline)): \(verb) \(subject)\(absence)."
    }

    /// What is known of the ratios of the current strategy to the others, where no other is named.
    private static func finding(_ ratios: [SpeedRatio], _ headline: Headline) -> String {
        // What the noise of a busy machine hides can be what counts elsewhere.
        let isBusy = headline.ranking.leastRatio > Headline.gainMin
        let canBeBetter = ratios.contains { 1 / $0.low >= Headline.gainMin - Headline.rounding }
        if ratios.contains(where: { $0.value <= 0.5 }) || isBusy && canBeBetter {
            return "Too noisy to tell"
        }
        if ratios.contains(where: { headline.isBetter($0) || $0.value >= 2 }) {
            return "Nothing better found"
        }
        let isSure = ratios.contains { $0.low > 1 || $0.high < 1 }
        let least = FigureText.excess(max(Headline.gainMin, headline.ranking.leastRatio))
        return isSure ? "No difference of \(least) found" : "No difference found"
    }

    /// Why none of these that are faster is named; without a kind, for several reasons.
    private static func reason(
        _ kind: Headline.Obstacle.Kind?,
        _ names: [String],
        _ ranking: Ranking
    ) -> String {
        let isOne = names.count == 1
        let average = ranking.situations.count > 1 ? " on average" : ""
        let reason =
            switch kind {
            case .copies: "\(isOne ? "its" : "their") writers copy"
            case .slower: "not in every case"
            case .limit: isOne ? "it breaks a limit" : "each breaks a limit"
            case .undecided, nil: "each has a fault"
            }
        let subject = isOne ? "`\(names[0])` is" : "\(names.count) others are"
        return "\(subject) faster\(average), but \(reason)"
    }

    /// A mean of greater differences than this tells a reader nothing.
    private static let gainSpreadMax = 3.0

    /// `28 % more than `lock` from 2 threads on`: the part of the cases that has the gain.
    private static func gain(_ headline: Headline, _ name: String, _ current: String) -> String {
        let ranking = headline.ranking
        let situations = ranking.situations.sorted { $0.threads < $1.threads }
        func gain(_ situations: [Ranking.Situation]) -> String {
            let ratio = headline.ratio(name, to: current, in: situations)?.value
            return ranking.figure.gain(ratio ?? 1, over: current)
        }
        guard let last = situations.last,
            ranking.situations.map(\.workload).uniqued().count == 1
        else { return "\(gain(situations)) over \(FigureText.counted(situations.count, "case"))" }
        let ratios = situations.map { headline.ratio(name, to: current, in: [$0])?.value ?? 1 }
        let least = max(Headline.gainMin, (ratios.max() ?? 1) / gainSpreadMax)
        let first = ratios.firstIndex { $0 >= least } ?? 0
        let part = ratios[first...].allSatisfy { $0 >= least } ? first : 0
        let place =
            switch situations.count - part {
            case 1: WorkloadText.threads(last.threads, last.workload)
            case situations.count:
                WorkloadText.threads(
                    last.threads,
                    last.workload,
                    from: "\(situations[0].threads) to "
                )
            case _:
                "from \(WorkloadText.countedThreads(situations[part].threads, last.workload)) on"
            }
        return "\(gain(Array(situations[part...]))) \(place)"
    }

    // MARK: Line two

    private static let flipCountMax = 3
    private static let flipWordCountMax = 36

    private static func flip(_ headline: Headline) -> String {
        let ranking = headline.ranking
        let flips = sortedFlips(headline)
        guard !flips.isEmpty else {
            return unflipped(headline)
        }
        let shown = shownFlips(headline)
        let left = flips.count - shown.count
        let rest = left > 0 ? "; and under \(FigureText.counted(left, "more condition"))" : ""
        guard flips.contains(where: { $0.strategy != nil }) else {
            return "Others are better "
                + shown.map { place($0, ranking) }.joined(separator: "; ") + rest
                + "; the run is too noisy to tell which."
        }
        return "Except: " + shown.map { clause($0, headline) }.joined(separator: "; ") + rest + "."
    }

    /// That nothing flips.
    private static func unflipped(_ headline: Headline) -> String {
        let ranking = headline.ranking
        let count = ranking.situations.count
        guard count > 1 else { return "Only one case was measured." }
        let isNoisy = ranking.leastRatio > Headline.gainMin
        return "No other \(headline.isBeatenSomewhere ? "that may be used " : "")"
            + "was found better by \(FigureText.excess(max(Headline.gainMin, ranking.leastRatio))) "
            + (count == 2 ? "in either case" : "in any of the \(count) cases")
            + (isNoisy ? "; the noise of the run hides what is less." : ".")
    }

    /// The greatest gain first, and last where it is not decided what is better.
    private static func sortedFlips(_ headline: Headline) -> [Headline.Flip] {
        headline.flips.sorted { $0.gain > $1.gain }
    }

    /// Those for which line two has room: one at least.
    static func shownFlips(_ headline: Headline) -> ArraySlice<Headline.Flip> {
        let all = sortedFlips(headline)
        var wordCount = 0
        let fitting = all.prefix(flipCountMax).prefix { flip in
            wordCount += clause(flip, headline).wordCount
            return wordCount <= flipWordCountMax
        }
        return all.prefix(max(1, fitting.count))
    }

    private static func clause(_ flip: Headline.Flip, _ headline: Headline) -> String {
        let ranking = headline.ranking
        guard let name = flip.strategy else {
            return "others \(place(flip, ranking)), too noisy to tell which"
        }
        let gain = ranking.figure.gain(flip.gain)
        return "\(headline.told(name)) \(place(flip, ranking)): \(gain)"
    }

    private static func place(_ flip: Headline.Flip, _ ranking: Ranking) -> String {
        flip.situations.last.map { last in
            WorkloadText.difference(
                of: last,
                among: ranking.situations,
                from: flip.situations.first?.threads
            )
        } ?? ""
    }
}

extension String {
    /// Of text for people.
    var wordCount: Int { split(separator: " ").count }
}
