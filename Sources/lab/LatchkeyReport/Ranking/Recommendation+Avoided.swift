internal import LatchkeyComparison

// Line three: what must not be used here, and why.

extension ComparisonReport.Recommendation {
    private static let avoidedCountMax = 3
    private static let avoidedWordCountMax = 36

    /// A strategy, and a clause about it without its subject.
    struct Avoided {
        var strategy: String
        var clause: String

        var text: String { "`\(strategy)` \(clause)" }
    }

    /// A sentence, or nothing.
    static func avoided(_ report: ComparisonReport, _ headline: Headline) -> [String] {
        let all = allAvoided(report, headline)
        guard !all.isEmpty else { return [] }
        let clauses = shown(all).map(\.text)
        let left = all.count - clauses.count
        return [
            "Not here: " + clauses.joined(separator: "; ")
                + (left > 0 ? "; and \(left) more." : ".")
        ]
    }

    /// The clauses of those that line three only counts.
    static func avoidedBesides(_ report: ComparisonReport, _ headline: Headline) -> [String] {
        let all = allAvoided(report, headline)
        return all.dropFirst(shown(all).count).map(\.text)
    }

    /// Those for which the line has room: one at least.
    private static func shown(_ all: [Avoided]) -> ArraySlice<Avoided> {
        var wordCount = 0
        let fitting = all.prefix(avoidedCountMax).prefix { avoided in
            wordCount += avoided.text.wordCount
            return wordCount <= avoidedWordCountMax
        }
        return all.prefix(max(1, fitting.count))
    }

    /// What is wrong comes first, then what collapses, the deepest first, then what breaks a limit,
    /// then what is slow everywhere.
    static func allAvoided(_ report: ComparisonReport, _ headline: Headline) -> [Avoided] {
        let all =
            failed(report) + collapsing(headline) + breaking(headline) + slow(headline)
        var seen: Set<String> = []
        return all.filter { seen.insert($0.strategy).inserted }
    }

    private static func failed(_ report: ComparisonReport) -> [Avoided] {
        report.verdicts.filter { $0.outcome == .failed }.map {
            let clause = $0.isHang ? "does not return" : "fails the check '\($0.check.rawValue)'"
            return Avoided(strategy: $0.strategy, clause: clause)
        }
    }

    /// A fall that all have is no reason against one.
    private static func collapsing(_ headline: Headline) -> [Avoided] {
        let ranking = headline.ranking
        let isAlone = ranking.overall.count < 2
        let cliffs = ranking.cliffs.filter { cliff in
            isAlone || headline.strategy.map { headline.isFarAhead($0, at: cliff) } ?? false
        }
        return cliffs.map { cliff in
            let threads = WorkloadText.countedThreads(cliff.fromThreads, cliff.workload)
            // The deepest fall of a strategy is the first one, and the only one that is told.
            let falls = cliffs.filter {
                $0.strategy == cliff.strategy && $0.fromThreads == cliff.fromThreads
                    && $0.toThreads == cliff.toThreads
            }
            let workloads = Set(
                ranking.situations.filter { $0.threads == cliff.toThreads }.map(\.workload)
            )
            let isEverywhere = Set(falls.map(\.workload)) == workloads
            let place =
                isEverywhere
                ? "" : " " + WorkloadText.difference(of: cliff.workload, among: ranking.situations)
            let most = isEverywhere && falls.contains { $0.ratio < cliff.ratio } ? "up to " : ""
            return Avoided(
                strategy: cliff.strategy,
                clause: "collapses above \(threads)\(place): "
                    + "\(most)\(FigureText.count(cliff.ratio)) times slower"
            )
        }
    }

    private static func breaking(_ headline: Headline) -> [Avoided] {
        let ranking = headline.ranking
        guard headline.judgesLimits else { return [] }
        return ranking.overall.map(\.strategy).compactMap { name in
            headline.breach(name, in: ranking.situations).map {
                Avoided(strategy: name, clause: "\($0.text) \($0.place)")
            }
        }
    }

    /// Those that are slower than the strategy that is named by as much as a cliff is deep, the
    /// slowest first.
    private static func slow(_ headline: Headline) -> [Avoided] {
        let ranking = headline.ranking
        guard let name = headline.strategy else { return [] }
        let found = ranking.overall.map(\.strategy).filter { $0 != name }.compactMap { other in
            let ratios = ranking.situations.compactMap { situation in
                headline.ratio(name, to: other, in: [situation]).map { (situation, $0) }
            }
            return ratios.filter { headline.isFarAhead($0.1) }.max { $0.1.value < $1.1.value }
                .map { (other, $0.0, $0.1.value) }
        }
        return found.sorted { $0.2 > $1.2 }.map { other, situation, ratio in
            let place = WorkloadText.difference(of: situation, among: ranking.situations)
            return Avoided(
                strategy: other,
                clause: "is \(ranking.figure.loss(ratio, than: name)) \(place)"
            )
        }
    }
}
