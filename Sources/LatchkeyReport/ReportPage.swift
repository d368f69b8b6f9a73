internal import Foundation
package import LatchkeyComparison

/// The report as one page of HTML, which loads nothing from anywhere.
///
/// `page.html` has the style and a script that draws the report's own JSON. Beside the report the
/// page gets what follows from it by rules that the other reports share: sentences, the order of
/// strategies, which of them are best.
///
/// The page has a bound on its size. A run of many workloads shows as many of them as fit, and the
/// page says how many are left to the JSON and CSV files.
package struct ReportPage {
    package static let byteCountMax = 500_000
    /// What the parts other than workloads may take together.
    private static let reservedByteCount = 120_000

    private let content: Content

    package init(_ report: ComparisonReport) {
        content = Content(report, byteCountMax: Self.byteCountMax - Self.reservedByteCount)
    }

    package func html() throws(ReportFileError) -> [UInt8] {
        // Nothing in the data can end the element that holds it.
        let data = try String(decoding: ComparisonReport.json(content), as: UTF8.self)
            .replacing("<", with: "\\u003c")
        // Only the page's own script knows this number.
        let nonce = String(UInt64.random(in: .min ... .max), radix: 16)
        let page = String(decoding: PackageResources.page_html, as: UTF8.self)
        return Array(page.replacing("{nonce}", with: nonce).replacing("{data}", with: data).utf8)
    }
}

/// What the script draws.
private struct Content: Encodable {
    struct Workload: Encodable {
        var name: String
        /// What it calls its threads: `thread`, or over the wire `connection`.
        var noun: String
        var isOpen: Bool
    }

    /// What the report says of a case or baseline.
    struct Mark: Encodable {
        var workload: Int
        var isBaseline: Bool
        var isBest: Bool
        var waitsForItself: Bool
        /// Over the repeats, of the figure that strategies are ranked by.
        var ranked: ComparisonReport.Spread?
    }

    struct Fit: Encodable {
        var workload: String
        var isMissed: Bool
        var peak: String
    }

    /// A case of a sweep over read ratios.
    struct Point: Encodable {
        var strategy: String
        var readRatio: Double
        var ranked: ComparisonReport.Spread?
    }

    private static let crossoverCountMax = 60
    private static let fitCountMax = 200

    /// Without repeats and crossovers, which the script does not draw from, and with the workloads
    /// that fit.
    var report: ComparisonReport
    /// Strategies and baselines as they stand everywhere.
    var order: [String]
    var workloads: [Workload] = []
    var workloadsLeft = 0
    /// For each case of the report, then for each baseline.
    var marks: [Mark] = []
    var fits: [Fit]
    var crossovers: [String]
    var crossoversLeft: Int
    var sweep: [Point]
    var sweepThreads: Int
    let commandLine: String
    let firstBucketNanoseconds = FigureText.quantileNanosecondsMin
    let selfWaitNote = ComparisonReport.Case.waitsForItselfNote
    let missNote = ComparisonReport.missNote
    let method = HTTPComparison.method

    init(_ report: ComparisonReport, byteCountMax: Int) {
        self.report = report
        order = StrategyOrder.names(report)
        commandLine = report.settings.commandLine
        fits = report.fits.prefix(Self.fitCountMax).map {
            Fit(
                workload: WorkloadText.description($0.workload),
                isMissed: !report.describesSweep($0),
                peak: report.peakText($0)
            )
        }
        let namesWorkload = report.cases.map(\.workload).uniqued().count > 1
        crossovers = report.crossovers.prefix(Self.crossoverCountMax).map {
            WorkloadText.crossing($0, namesWorkload: namesWorkload)
        }
        crossoversLeft = report.crossovers.count - crossovers.count
        sweepThreads = report.cases.map(\.threads).max() ?? 1
        sweep = Self.sweep(report, threads: sweepThreads)
        self.report.fits = Array(report.fits.prefix(Self.fitCountMax))
        self.report.crossovers = []
        self.report.cases = []
        self.report.baselines = []
        takeWorkloads(of: report, byteCountMax: byteCountMax)
    }

    private mutating func takeWorkloads(of full: ComparisonReport, byteCountMax: Int) {
        let ranking = Ranking(full)
        var byteCount = 0
        var baselineMarks: [Mark] = []
        let all = full.cases.map(\.workload).uniqued()
        for (index, workload) in all.enumerated() {
            let entries = (full.cases + full.baselines).filter { $0.workload == workload }
            let slim = entries.map { entry in
                var entry = entry
                entry.repeats = []
                return entry
            }
            let new = entries.map { Mark($0, workload: index, full, ranking) }
            byteCount += (try? ComparisonReport.json(slim).count) ?? 0
            byteCount += (try? ComparisonReport.json(new).count) ?? 0
            guard byteCount <= byteCountMax else {
                workloadsLeft = all.count - index
                break
            }
            workloads.append(
                Workload(
                    name: WorkloadText.description(workload),
                    noun: WorkloadText.threadNoun(workload),
                    isOpen: workload.arrival != .closed
                )
            )
            let count = full.cases.count { $0.workload == workload }
            report.cases += slim.prefix(count)
            report.baselines += slim.dropFirst(count)
            marks += new.prefix(count)
            baselineMarks += new.dropFirst(count)
        }
        marks += baselineMarks
    }

    /// The first workload with all its read ratios; nothing where the run has one read ratio.
    private static func sweep(_ report: ComparisonReport, threads: Int) -> [Point] {
        func withoutReads(_ workload: ComparisonReport.Workload) -> ComparisonReport.Workload {
            var workload = workload
            workload.readRatio = 0
            return workload
        }
        guard let first = report.cases.first.map({ withoutReads($0.workload) }),
            report.cases.map(\.workload.readRatio).uniqued().count > 1
        else { return [] }
        return (report.cases + report.baselines).filter {
            $0.threads == threads && withoutReads($0.workload) == first
        }.map {
            Point(
                strategy: $0.strategy,
                readRatio: $0.workload.readRatio,
                ranked: RankedFigure($0.workload).spread($0)
            )
        }
    }
}

extension Content.Mark {
    fileprivate init(
        _ entry: ComparisonReport.Case,
        workload: Int,
        _ report: ComparisonReport,
        _ ranking: Ranking
    ) {
        let situation = Ranking.Situation(threads: entry.threads, workload: entry.workload)
        let leaders = Ranking.leaders(ranking.standings[situation] ?? []).map(\.strategy)
        self.init(
            workload: workload,
            isBaseline: ComparisonReport.isBaseline(entry.strategy),
            isBest: report.conditions.ranking != .refused && leaders.contains(entry.strategy),
            waitsForItself: entry.waitsForItself,
            ranked: RankedFigure(entry.workload).spread(entry)
        )
    }
}
