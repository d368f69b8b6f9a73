internal import Foundation
internal import LatchkeyComparison
internal import LatchkeyReport
internal import LatchkeySettings

/// The files of `latchkey compare`: reports that are read, and files that are written.
extension CompareCommand {
    static func readFiles(_ values: FlagValues, _ catalogue: Catalogue) throws(UsageError) {
        for flag in CompareFlags.measuring(catalogue)
        where values.isGiven(flag.name) && !["force", "current"].contains(flag.name) {
            throw UsageError(
                "--from measures nothing, so \(values.source(flag)) has no meaning with it."
            )
        }
        guard values.isGiven("from") else {
            throw UsageError("--against needs --from, the earlier report.")
        }
        let baseline = try Baseline(values)
        let reports = orFail { try values.reports("from") }
        let isAgainst = values.isGiven("against")
        if reports.count == 1, !isAgainst {
            var report = reports[0]
            // The verdict is by today's rules, also for a report of an earlier version.
            if values.isGiven("current") {
                let names = (catalogue.names + report.settings.strategies).uniqued()
                let name = try Flag(
                    CompareFlags.current,
                    // A refusal lists them, and some come from a file.
                    .choice(names.map { TerminalStyle.withoutControls($0.rawValue) }),
                    default: "",
                    ""
                ).check(values.text(CompareFlags.current), source: "--current")
                report.settings.currentStrategy = StrategyName(rawValue: name)
            }
            report.conclude(isForced: values.isOn("force"))
            try checkOutput(values)
            end(report, values, baseline)
        }
        guard isAgainst || baseline != nil else {
            throw UsageError("Several --from have no meaning without --against or --baseline.")
        }
        let place = isAgainst ? "--against" : "several --from"
        if values.isGiven("current") {
            throw UsageError("--current has no meaning with \(place).")
        }
        for flag in CompareFlags.files where values.isGiven(flag.name) {
            guard CompareFlags.filesOfDifferences.contains(where: { $0.name == flag.name }) else {
                throw UsageError("\(values.source(flag)) has no meaning with \(place).")
            }
        }
        try checkOutput(values)
        let difference = orFail {
            try baseline?.difference(to: reports)
                ?? ReportDifference(
                    from: reports,
                    against: values.reports("against"),
                    isForced: values.isOn("force"),
                    failBelow: values.failBelow
                )
        }
        write(
            [
                ("html", { ReportPage.html(of: difference) }),
                ("markdown", { Array(difference.markdown.utf8) }),
            ],
            values
        ) { difference.text(style: $0) }
        exit(difference.isWorse ? 1 : 0)
    }

    /// The reports of `--baseline`, with which that of the run is compared.
    struct Baseline {
        private let reports: [ComparisonReport]
        private let failBelow: Double?
        private let isForced: Bool

        /// Reads the reports; `nil` if there are none.
        init?(_ values: FlagValues) throws(UsageError) {
            let hasBaseline = values.isGiven("baseline")
            if hasBaseline, values.isGiven("against") {
                throw UsageError("--baseline has no meaning with --against.")
            }
            if values.isGiven("fail-below"), !hasBaseline, !values.isGiven("against") {
                throw UsageError("--fail-below has no meaning without --baseline or --against.")
            }
            let streams = CompareFlags.reports.flatMap { flag in
                values.paths(flag.name).filter { $0 == ReportFile.standardStream }
                    .map { _ in "--\(flag.name)" }
            }
            guard streams.count < 2 else {
                let names = streams.prefix(2).joined(separator: " and ")
                throw UsageError("\(names) cannot both be standard input.")
            }
            guard hasBaseline else { return nil }
            reports = orFail { try values.reports("baseline") }
            (failBelow, isForced) = (values.failBelow, values.isOn("force"))
        }

        /// Finds out before a run, not after it, that its report could not be compared.
        func check(_ run: ComparisonRun) throws {
            let expected = reports[0].expected(
                of: run,
                on: ComparisonReport.Fingerprint(
                    version: latchkeyVersion,
                    mutex: reports[0].fingerprint.mutex
                )
            )
            _ = try difference(to: [expected])
        }

        fileprivate func difference(
            to later: [ComparisonReport]
        ) throws(ReportFileError) -> ReportDifference {
            try ReportDifference(
                from: reports,
                against: later,
                isForced: isForced,
                failBelow: failBelow
            )
        }
    }

    /// Shows a report, and the changes since the baseline; ends the program.
    static func end(
        _ report: ComparisonReport,
        _ values: FlagValues,
        _ baseline: Baseline?,
        failure: String? = nil
    ) -> Never {
        var (changes, problem): (ReportDifference?, String?) = (nil, failure)
        do throws(ReportFileError) {
            changes = try baseline?.difference(to: [report])
        } catch {
            problem = problem ?? error.message
        }
        show(report, values, changes)
        // A hang ends the run early, too, but the status reports the hang.
        let status = changes.map { $0.isWorse ? 1 : 0 } ?? status(of: report)
        let isEarly =
            report.isInterrupted && status == 0 && failure == nil && !values.isGiven("from")
        if let problem {
            // A failed check is known even if the reports cannot be compared.
            guard isEarly || status == 1 && failure == nil else { fail(problem) }
            complain(TerminalStyle.withoutControls(problem))
        }
        exit(isEarly ? 130 : status)
    }

    /// Finds out before the run, not after it, that a report cannot be written.
    static func checkOutput(_ values: FlagValues) throws(UsageError) {
        var sources = reservedFiles(values)
        for flag in CompareFlags.files where values.isGiven(flag.name) {
            let path = values.text(flag.name)
            if path != ReportFile.standardStream { orFail { try ReportFile.checkCanWrite(path) } }
            let file = path == ReportFile.standardStream ? path : ReportFile.target(of: path)
            guard let target = file else { continue }
            if let other = sources.updateValue(values.source(flag), forKey: target) {
                throw UsageError("\(other) and \(values.source(flag)) name the same file.")
            }
        }
    }

    /// Files that no report may replace, with their descriptions: files that are read, and those
    /// that text goes to.
    private static func reservedFiles(_ values: FlagValues) -> [String: String] {
        var files = [("/dev/stderr", "standard error"), ("/dev/stdout", "standard output")]
        for flag in CompareFlags.inputs {
            files += values.paths(flag.name).filter { $0 != ReportFile.standardStream }
                .map { ($0, values.source(flag)) }
        }
        let targets = files.compactMap { path, name in
            ReportFile.target(of: path).map { ($0, name) }
        }
        return Dictionary(targets, uniquingKeysWith: { $1 })
    }

    private static func show(
        _ report: ComparisonReport,
        _ values: FlagValues,
        _ changes: ReportDifference?
    ) {
        func after(_ text: String?) -> String { text.map { "\n" + $0 } ?? "" }
        write(
            [
                ("json", { try report.json() }),
                ("csv", { report.csv() }),
                ("html", { try ReportPage(report).html(changes) }),
                (
                    "markdown",
                    {
                        Array((MarkdownReport(report).text + after(changes?.markdown)).utf8)
                    }
                ),
            ],
            values
        ) { TerminalReport(report, style: $0).text + after(changes?.text(style: $0)) }
    }

    /// Writes the files that were asked for, as many as can be written, and prints the text.
    ///
    /// The files come first, because standard output that cannot be written ends the program. If a
    /// report goes there, the text goes to standard error.
    private static func write(
        _ files: [(name: String, make: () throws -> [UInt8])],
        _ values: FlagValues,
        text: (TerminalStyle) -> String
    ) {
        var isWritten = true
        var printed: [UInt8]?
        for file in files where values.isGiven(file.name) {
            do {
                let bytes = try file.make()
                if values.text(file.name) == ReportFile.standardStream {
                    printed = bytes
                } else {
                    try ReportFile.write(bytes, to: values.text(file.name))
                }
            } catch {
                complain("\(error)")
                isWritten = false
            }
        }
        let descriptor: Int32 = printed == nil ? 1 : 2
        say(text(TerminalStyle(descriptor: descriptor)), to: descriptor)
        if let printed {
            // By its last byte: the line ends of CSV are one character with a carriage return.
            let isEnded = printed.last == UInt8(ascii: "\n")
            say(String(decoding: printed, as: UTF8.self) + (isEnded ? "" : "\n"))
        }
        if !isWritten { exit(2) }
    }
}

extension FlagValues {
    /// The files of a flag that can be given several times, or in the environment once.
    fileprivate func paths(_ name: String) -> [String] {
        let given = list(name)
        return given.isEmpty && isGiven(name) ? [text(name)] : given
    }

    fileprivate func reports(_ name: String) throws(ReportFileError) -> [ComparisonReport] {
        var reports: [ComparisonReport] = []
        for path in paths(name) { reports.append(try ComparisonReport(file: path)) }
        return reports
    }

    fileprivate var failBelow: Double? { Double(text(CompareFlags.failBelow.name)) }
}
