internal import CLatchkeyPages
internal import Foundation
package import LatchkeyComparison
internal import LatchkeyStrategies
internal import LatchkeyVerdict

/// The report as one page of HTML, which loads nothing from anywhere.
///
/// `report.html` has the style and a script that draws the report's own JSON. Besides the report
/// the page gets its conclusions by the rules of the other reports: sentences, the order of
/// strategies, which of them are best.
///
/// The page has a size limit. A run of many workloads shows as many of them as fit, and the page
/// says how many are only in the JSON and CSV files.
package struct ReportPage {
    package static let byteCountMax = 500_000
    /// The part of it for everything except the workloads.
    private static let reservedByteCount = 120_000

    private let report: ComparisonReport

    package init(_ report: ComparisonReport) {
        self.report = report
    }

    /// The page; below the report, the changes since another one.
    package func html(_ changes: ReportDifference? = nil) throws(ReportFileError) -> [UInt8] {
        let content = try Content(report, byteCountMax: Self.byteCountMax - Self.reservedByteCount)
        // Nothing in the data can end the element that holds it.
        let json = try String(decoding: ComparisonReport.json(content), as: UTF8.self)
        // JSON has escaped control characters; marks of direction would turn the text around them.
        let data = TerminalStyle.withoutControls(json)
            .replacing("<", with: "\\u003c")
        // Only the page's own script knows this number.
        let nonce = String(UInt64.random(in: .min ... .max), radix: 16)
        let part = changes.map { "<div class=\"changes\">\n\($0.section)</div>\n" } ?? ""
        return Array(
            Self.file.replacing("{nonce}", with: nonce).replacing("{changes}", with: part)
                .replacing("{data}", with: data).utf8
        )
    }

    /// A page without a report: only the changes from one to another.
    package static func html(of changes: ReportDifference) -> [UInt8] {
        let head = file.split(separator: "<body>", maxSplits: 1)[0]
            .replacing("script-src 'nonce-{nonce}';", with: "")
        return Array("\(head)<body>\n<main>\n\(changes.section)</main>\n</body>\n</html>\n".utf8)
    }

    private static var file: String {
        let file = unsafe latchkey_pages_report()
        // SAFETY: the bytes live as long as the program, and do not change.
        let bytes = unsafe UnsafeBufferPointer(start: file.start, count: file.count)
        return unsafe String(decoding: bytes, as: UTF8.self)
    }
}

/// The data that the script draws.
private struct Content: Encodable {
    /// The marks of a case or baseline by the rules.
    struct Mark: Encodable {
        var isBest: Bool
        /// The share of the best speed in the same case.
        var ofBest: Double?
        var waitsForItself: Bool
        var hasInterval: Bool
        /// Over the repeats, of the figure that strategies are ranked by.
        var ranked: ComparisonReport.Spread?
    }

    private static let crossoverCountMax = 60

    /// Without repeats, rounds, crossovers and cliffs, which the script does not draw from, and
    /// with the workloads that fit.
    var report: ComparisonReport
    /// Strategies and baselines in the order of all reports.
    let order: [String]
    /// For each strategy and baseline the number of its look: colour, shape and dashes.
    let looks: [String: Int]
    /// The names of the workloads in `report`, in their order.
    var workloads: [String] = []
    var workloadsLeft = 0
    /// For each case of the report, then for each baseline.
    var marks: [Mark] = []
    /// The strategies that the verdict names, at most five; the others are grey.
    let shown: [String]
    let crossovers: [String]
    let crossoversLeft: Int
    let commandLine: String
    let earlyEnd: String?
    let firstBucketNanoseconds = FigureText.quantileNanosecondsMin
    let selfWaitNote = ComparisonReport.Case.waitsForItselfNote
    let method: String
    /// Whether the throughput of a case is that of rounds.
    let hasRounds: Bool
    let cacheLineFact: String?
    let cacheLine: String?

    init(_ full: ComparisonReport, byteCountMax: Int) throws(ReportFileError) {
        let ranking = Ranking(full)
        let all = full.cases.map(\.workload).uniqued()
        order = ranking.order
        method = HTTPComparison.method(full.settings.arrival)
        hasRounds = full.cases.contains { $0.rounds != nil }
        looks = StrategyLook.numbers((full.cases + full.baselines).map(\.strategy).uniqued())
        cacheLineFact = full.cacheLineFact
        cacheLine = full.cacheLineText.isEmpty ? nil : full.cacheLineText
        commandLine = full.settings.commandLine
        earlyEnd = full.earlyEnd
        crossovers = full.crossovers.filter { $0.touches(ranking.bestThree) }
            .prefix(Self.crossoverCountMax).map {
                WorkloadText.crossing($0, namesWorkload: all.count > 1)
            }
        shown = Self.shown(full, ranking)
        crossoversLeft = full.crossovers.count - crossovers.count
        report = full
        (report.crossovers, report.cliffs) = ([], [])
        for path in [\ComparisonReport.cases, \.baselines] {
            for index in report[keyPath: path].indices {
                report[keyPath: path][index].repeats = []
                report[keyPath: path][index].rounds = nil
            }
        }
        var byteCount = 0
        for workload in all {
            let entries = (report.cases + report.baselines).filter { $0.workload == workload }
            byteCount += try ComparisonReport.json(entries).count
            guard byteCount <= byteCountMax else { break }
            workloads.append(WorkloadText.description(workload))
        }
        workloadsLeft = all.count - workloads.count
        let shown = all.prefix(workloads.count)
        report.cases.removeAll { !shown.contains($0.workload) }
        report.baselines.removeAll { !shown.contains($0.workload) }
        marks = (full.cases + full.baselines).filter { shown.contains($0.workload) }.map { entry in
            Mark(
                isBest: ranking.isBest(entry),
                ofBest: ranking.shareOfBest(entry),
                waitsForItself: entry.waitsForItself,
                hasInterval: entry.hasInterval,
                ranked: RankedFigure(entry.workload).spread(entry)
            )
        }
    }
}

extension Content {
    private static let shownCountMax = 5

    /// The strategy to use, the current one, those to which it flips, the first that must not be
    /// used here, those that are surely better but not named, those within 10 % of the first, and
    /// then the best.
    private static func shown(_ report: ComparisonReport, _ ranking: Ranking) -> [String] {
        guard !ranking.isRefused else { return Array(ranking.order.prefix(shownCountMax)) }
        let verdict = ranking.verdict
        let failed = report.verdicts.filter { $0.outcome == .failed }.map { ($0.strategy, "") }
        let avoided = verdict.avoided(failed).map(\.strategy)
        let better = verdict.ranked.filter { name in
            verdict.strategy.map { verdict.isBetter(name, than: $0) } ?? false
        }
        let names =
            [verdict.strategy, verdict.current].compactMap(\.self) + verdict.flipping.prefix(2)
            + avoided.prefix(1) + better.prefix(1) + verdict.asGood + verdict.ranked
        return Array(names.uniqued().prefix(shownCountMax))
    }
}

/// How a strategy looks on all plots of all reports, whatever its rank.
enum StrategyLook {
    /// As many as there are combinations of colour, shape and dashes.
    private static let count = 98

    /// The built-in strategies and the baselines have fixed numbers; any other name has one that
    /// follows from the name, and the next free one if that is taken.
    static func numbers(_ names: [String]) -> [String: Int] {
        let baselines = ComparisonReport.Baseline.allCases.map(\.rawValue)
        let fixed = StrategyKind.allCases.map(\.rawValue) + baselines
        var numbers: [String: Int] = [:]
        var taken = Set(fixed.indices)
        for name in names {
            if let index = fixed.firstIndex(of: name) {
                numbers[name] = index
                continue
            }
            // FNV-1a: the hash of the standard library differs from run to run.
            let hash = name.utf8.reduce(UInt64(14_695_981_039_346_656_037)) {
                ($0 ^ UInt64($1)) &* 1_099_511_628_211
            }
            var number = Int(hash % UInt64(count))
            while taken.contains(number), taken.count < count { number = (number + 1) % count }
            taken.insert(number)
            numbers[name] = number
        }
        return numbers
    }
}
