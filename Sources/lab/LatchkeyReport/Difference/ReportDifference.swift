internal import Foundation
package import LatchkeyComparison
internal import LatchkeyVerdict

/// The differences between two reports beyond the noise: `latchkey compare --from a --against b`.
///
/// Cases of the same strategy, threads and workload are compared by throughput (in an open loop, by
/// p99 of the response from when an operation was due), over HTTP also by p99 of the response that
/// the client saw, and by processor time per operation, p99 of the wait and mean hold. All cases of
/// a strategy, and of all strategies, are also compared together, which finds a small difference
/// that is everywhere. A check that fails and did not before is worse, too.
///
/// **The rule** is that of a ``Verdict``: a ``Ratio`` of repeats whose interval is a bootstrap,
/// widened. Two runs were not interleaved, so each of them adds its own error, and the interval is
/// as wide as it has to be for all figures of the two reports at once.
///
/// Reports of different machines are not compared, unless by force: see ``CaseMatching``. If a
/// cache line took another way in one of the runs, only cases of one thread are compared. What
/// other processes took from one run and not from the other explains a difference, and so it
/// widens the least one that is found. If the conditions of a report forbid a ranking, only the
/// processor time of one thread is compared, which other processes hardly change.
package struct ReportDifference {
    package enum Change: String, Sendable {
        case same = "no difference found"
        case better
        case worse
    }

    let rows: [Row]
    /// The machine and the build of the later report, and when the two were made.
    let heading: String
    /// What a reader has to know besides the rows, a sentence each.
    let notes: [String]
    /// Checks that passed before and fail now, a sentence each.
    let newFailures: [String]

    /// Only a throughput surely below this part of the one before is worse enough to fail.
    let failBelow: Double?

    /// Whether a check fails newly, or something is worse, and by as much as was asked for.
    package var isWorse: Bool { !newFailures.isEmpty || rows.contains(where: fails) }

    private func fails(_ row: Row) -> Bool {
        guard row.verdict == .worse, let failBelow else { return row.verdict == .worse }
        return row.figure == .throughput && row.ratio.high < failBelow
    }

    /// Compares two reports.
    ///
    /// - Parameters:
    ///   - before: the earlier report.
    ///   - after: the later one, in which things may be worse.
    ///   - isForced: whether to compare everything under whatever conditions.
    ///   - failBelow: the part of the throughput before that has to be left.
    /// - Throws: A sentence if the reports have nothing that can be compared.
    package init(
        from before: ComparisonReport,
        against after: ComparisonReport,
        isForced: Bool = false,
        failBelow: Double? = nil
    ) throws(ReportFileError) {
        func require(_ condition: Bool, _ message: String) throws(ReportFileError) {
            guard condition else { throw ReportFileError(message: message) }
        }
        let force = " --force compares them anyway."
        try require(
            before.kind == after.kind,
            "One report measured \(before.kind) and the other \(after.kind): they have no figure "
                + "in common."
        )
        let matching = CaseMatching(before, after)
        try require(!matching.pairs.isEmpty, "The two reports have no case in common.")
        try require(
            matching.machineNotes.isEmpty || isForced,
            "The reports are of different machines, so the change is not to blame for what "
                + "differs. " + matching.machineNotes.joined(separator: " ") + force
        )
        var rows = matching.pairs.flatMap { Row.all($0, namesWorkload: !matching.isOneWorkload) }
        try require(
            !rows.isEmpty,
            "The reports have fewer than \(Ratio.repeatsMin) repeats of each case, which is too "
                + "few to tell a difference from noise."
        )
        var restrictions: [String] = []
        let findings = (before.conditions.findings + after.conditions.findings).uniqued()
        if !findings.isEmpty, !isForced {
            rows = rows.compactMap(\.underLoad)
            try require(
                !rows.isEmpty,
                "The conditions of the reports change throughput by themselves, and the reports "
                    + "have no case of one thread in process. "
                    + findings.joined(separator: " ") + force
            )
            restrictions.append(
                "Under these conditions only the processor time of one thread is compared, which "
                    + "other processes hardly change. --force compares everything."
            )
        }
        if let distance = matching.distance, !isForced {
            rows = rows.filter(\.isOneThread)
            try require(
                !rows.isEmpty,
                "\(distance), and the reports have no case of one thread.\(force)"
            )
            restrictions.append(
                "\(distance), so only cases of one thread are compared. --force compares "
                    + "everything."
            )
        }
        self.failBelow = failBelow
        try require(failBelow == nil || rows.contains { $0.figure == .throughput }, Self.noGate)
        let kept = [before, after].map(\.keptShare)
        let leastRatio = pow(max(kept[0], kept[1]) / min(kept[0], kept[1]), 2)
        for index in rows.indices { rows[index].widen(to: leastRatio) }
        rows += Row.pooled(rows)
        Row.judge(&rows)
        self.rows = rows
        heading = "\(before.day) against \(after.day), on \(after.machine)"
        notes =
            matching.machineNotes + matching.notes + before.notes("before") + after.notes("after")
            + after.failures.filter(before.hasFailed).map { "\($0.failure) as before." }
            + restrictions
        newFailures = after.failures(newSince: before)
    }

    // MARK: In words

    /// The figure of the last sentence: the first one that was compared.
    private var mainFigure: Figure { rows.first?.figure ?? .throughput }

    /// For each case, the loss of throughput, or the rise of another figure, that would have been
    /// found.
    private var detectableShares: [Double] {
        let figure = mainFigure
        return rows.filter { $0.figure == figure && !$0.isPooled }.map { row in
            figure == .throughput ? 1 - 1 / row.detectable : row.detectable - 1
        }.sorted()
    }

    /// The share that would have been found in half of the cases.
    var detectableShare: Double {
        let shares = detectableShares
        return shares.isEmpty ? 0 : shares[shares.count / 2]
    }

    private static let rowCountMax = 40

    /// The differences found, the worst first.
    var found: [Row] {
        [Change.worse, .better].flatMap { verdict in
            rows.filter { $0.verdict == verdict }.sorted { abs($0.change) > abs($1.change) }
        }
    }

    /// The first so many of them.
    func table(_ countMax: Int) -> TextTable {
        TextTable(
            headings: ["strategy", "where", "figure", "before", "after", "change", ""],
            rows: found.prefix(countMax).map(\.cells)
        )
    }

    /// The text for a terminal: the differences found and their conditions.
    package func text(style: TerminalStyle) -> String {
        func paragraphs(_ texts: [String], _ emphasis: TextTable.Emphasis = .none) -> String {
            texts.map { style.paragraph($0, emphasis) }.joined()
        }
        let table = table(Self.rowCountMax)
        let left = found.count - Self.rowCountMax
        return paragraphs(newFailures.map { "! " + $0 }, .bad)
            + (found.isEmpty ? "" : table.text(style: style))
            + (left > 0 ? "and \(left) more\n" : "") + (found.isEmpty ? "" : "\n")
            + paragraphs(notes) + paragraphs([summary], isWorse ? .bad : .good)
    }

    /// The last sentence: how many differences, and which could have been found.
    var summary: String {
        let worse = rows.count { $0.verdict == .worse } + newFailures.count
        let better = rows.count { $0.verdict == .better }
        let count = detectableShares.count
        return
            (worse + better == 0
            ? "No difference found beyond the noise. "
            : "\(worse) worse, \(better) better, of \(FigureText.counted(rows.count, "figure")). ")
            + "A \(mainFigure == .throughput ? "loss" : "rise") of at least "
            + "\(FigureText.percent(detectableShare)) in \(mainFigure.rawValue) can be found"
            + (count == 1 ? "." : " in half of the cases.") + gate
    }

    private static let noGate =
        "--fail-below is about throughput, and the reports have none that can be compared."

    /// What `--fail-below` says, after the last sentence.
    private var gate: String {
        guard let failBelow else { return "" }
        let count = rows.count(where: fails)
        return " \(count == 0 ? "No throughput" : FigureText.counted(count, "throughput")) "
            + "\(count > 1 ? "are" : "is") surely below \(failBelow) of the "
            + "one before."
    }
}

extension ComparisonReport {
    /// The report that a run would have if it found what this one did: what forbids to compare
    /// them can be told before the run.
    package func expected(
        _ settings: ComparisonSettings,
        on fingerprint: Fingerprint
    ) -> Self {
        var expected = self
        (expected.settings, expected.fingerprint) = (settings, fingerprint)
        expected.fingerprint.cacheLine = self.fingerprint.cacheLine
        expected.cases.removeAll { entry in
            !settings.strategies.contains { $0.rawValue == entry.strategy }
                || !settings.threads.contains(entry.threads)
        }
        for index in expected.cases.indices {
            expected.cases[index].repeats.removeLast(
                max(0, expected.cases[index].repeats.count - settings.repeats)
            )
        }
        return expected
    }

    /// What was measured, as far as no figure of another kind compares with it.
    fileprivate var kind: String {
        guard settings.transport == .memory else { return "a service over HTTP" }
        return settings.arrival == .closed ? "a closed loop in process" : "an open loop in process"
    }

    /// The share of the processors' time that others left to the run.
    ///
    /// Its square bounds what they can explain: a thread that loses its processor while it holds a
    /// lock makes others wait, too.
    fileprivate var keptShare: Double {
        let foreign =
            (conditions.foreignProcessors ?? 0) / Double(max(1, fingerprint.processorsOnline))
        let throttled = (conditions.throttledSeconds ?? 0) / max(1e-3, elapsedSeconds)
        return max(0.01, 1 - foreign - (conditions.stealRatio ?? 0) - throttled)
    }

    fileprivate var failures: [Verdict] { verdicts.filter { $0.outcome == .failed } }

    fileprivate func failures(newSince before: Self) -> [String] {
        failures.filter { !before.hasFailed($0) }.map {
            "\($0.failure) now, and did not before. " + ($0.finding ?? "")
        }
    }

    fileprivate func hasFailed(_ verdict: Verdict) -> Bool {
        failures.contains { $0.strategy == verdict.strategy && $0.check == verdict.check }
    }

    fileprivate func notes(_ name: String) -> [String] {
        (conditions.findings + conditions.disturbances).map { "In the report \(name): \($0)" }
            + (earlyEnd.map { ["In the report \(name): \($0)"] } ?? [])
    }
}

extension ComparisonReport.Verdict {
    fileprivate var failure: String { "`\(strategy)` fails the check '\(check.rawValue)'" }
}
