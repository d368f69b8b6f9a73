internal import Foundation
package import LatchkeyComparison
internal import LatchkeyVerdict

/// The differences between reports beyond the noise: `latchkey compare --from a --against b`.
///
/// Cases of the same strategy, threads and workload are compared by throughput (in an open loop, by
/// p99 of the response from when an operation was due), over HTTP also by p99 of the response that
/// the client saw, and by processor time per operation, p99 of the wait and mean hold. All cases of
/// a strategy, and of all strategies, are also compared together, which finds a small difference
/// that is everywhere. A check that newly fails is worse, too.
///
/// **The rule** is that of a ``Verdict``: a ``Ratio`` of repeats whose interval is a bootstrap,
/// widened. Two runs were not interleaved, so each of them adds its own error, and the interval is
/// as wide as needed for this many normal figures at once. With three reports of a build, a run is
/// the unit and not its repeats: all repeats of a run share its accidents, such as the place of its
/// memory. Then one or two runs of the other build are assumed to vary like these.
///
/// Reports of different machines are not compared, unless by force: see ``CaseMatching``. If a
/// cache line took another way in one of the runs, only cases of one thread are compared. Time that
/// other processes took from one run only explains a difference, and so it raises the least
/// difference that is reported. Reports that may not be ranked are compared by force only.
package struct ReportDifference {
    package enum Change: String, Sendable {
        case same, better, worse
    }

    let rows: [Row]
    /// The machine and the build of the later report, and when the two were made.
    let heading: String
    /// Facts that a reader needs besides the rows, a sentence each.
    let notes: [String]
    /// Checks that passed before and fail now, a sentence each.
    let newFailures: [String]

    /// Only a throughput surely below this part of the one before is worse enough to fail.
    let failBelow: Double?

    /// The cases before, whether they are compared or not.
    private let caseCount: Int

    /// Whether a check newly fails, or a figure is worse and ``failBelow`` does not exclude it.
    package var isWorse: Bool { !newFailures.isEmpty || rows.contains(where: fails) }

    private func fails(_ row: Row) -> Bool {
        guard let failBelow else { return row.verdict == .worse }
        return row.figure == .throughput && row.ratio.high < failBelow
            && 1 / row.ratio.value >= row.loadRatio
    }

    /// Compares the reports of two builds, or settings: one of each, or several.
    ///
    /// - Parameters:
    ///   - before: the earlier ones, at least one.
    ///   - after: the later ones, which may be worse.
    ///   - isForced: whether to compare everything under any conditions.
    ///   - failBelow: the part of the throughput before that has to be left.
    /// - Throws: A sentence if the reports have nothing that can be compared.
    package init(
        from before: [ComparisonReport],
        against after: [ComparisonReport],
        isForced: Bool = false,
        failBelow: Double? = nil
    ) throws(ReportFileError) {
        let all = before + after
        let kinds = all.map(\.kind).uniqued()
        try Self.require(
            kinds.count == 1,
            "One report measured \(kinds[0]) and the other \(kinds[kinds.count - 1]): they have no "
                + "figure in common."
        )
        let matching = CaseMatching(before, after)
        try Self.require(!matching.pairs.isEmpty, "The reports have no case in common.")
        try Self.require(
            matching.machineNotes.isEmpty || isForced,
            "The reports are of different machines, so the change is not to blame for what "
                + "differs. " + matching.machineNotes.joined(separator: " ") + Self.force
        )
        let findings = all.flatMap(\.conditions.findings).uniqued()
        try Self.require(
            findings.isEmpty || isForced,
            "The conditions of the reports change their figures by themselves. "
                + findings.joined(separator: " ") + Self.force
        )
        let ofRuns = max(before.count, after.count) >= Ratio.repeatsMin
        var rows = matching.pairs.flatMap {
            Row.all($0, ofRuns: ofRuns, namesWorkload: !matching.isOneWorkload)
        }
        try Self.require(
            !rows.isEmpty,
            "The reports have fewer than \(Ratio.repeatsMin) repeats of each case, which is too "
                + "few to tell a difference from noise."
        )
        var restrictions = all.count == 2 ? [] : [ofRuns ? Self.runsNote : Self.repeatsNote]
        if let distance = matching.distance, !isForced {
            rows = rows.filter(\.isOneThread)
            try Self.require(
                !rows.isEmpty,
                "\(distance), and the reports have no case of one thread.\(Self.force)"
            )
            restrictions.append(
                "\(distance), so only cases of one thread are compared. --force compares "
                    + "everything."
            )
        }
        self.failBelow = failBelow
        caseCount = before.map(\.cases.count).max() ?? 0
        try Self.require(
            failBelow == nil || rows.contains { $0.figure == .throughput },
            Self.noGate
        )
        let leastRatio = Self.leastRatio(before, after)
        for index in rows.indices { rows[index].widen(to: leastRatio) }
        rows += Row.pooled(rows)
        Row.judge(&rows)
        self.rows = rows
        heading = "\(before.days) against \(after.days), on \(after[0].machine)"
        let old = before.failures.map(\.failure)
        notes =
            matching.machineNotes + matching.notes + before.notes("before") + after.notes("after")
            + after.failures.filter { old.contains($0.failure) }.map { "\($0.failure) as before." }
            + restrictions
        newFailures = after.failures.filter { !old.contains($0.failure) }.map {
            "\($0.failure) now, and did not before. " + ($0.finding ?? "")
        }
    }

    private static func require(_ condition: Bool, _ message: String) throws(ReportFileError) {
        guard condition else { throw ReportFileError(message: message) }
    }

    private static let force = " --force compares them anyway."
    private static let runsNote =
        "Each run counts as one value, since runs of one build differ by more than their repeats."
    private static let repeatsNote =
        "The repeats of all reports of a side count together; with \(Ratio.repeatsMin) reports of "
        + "one side, each run would count as one value."
    private static let noGate =
        "--fail-below is about throughput, and the reports have none that can be compared."

    /// The least difference that the load of other processes on one side cannot explain.
    private static func leastRatio(
        _ before: [ComparisonReport],
        _ after: [ComparisonReport]
    ) -> Double {
        let kept = [before, after].map { $0.map(\.keptShare).reduce(0, +) / Double($0.count) }
        return pow(max(kept[0], kept[1]) / min(kept[0], kept[1]), 2)
    }

    // MARK: In words

    /// The figure of the last sentence: the first one that was compared.
    private var mainRows: [Row] { rows.filter { $0.figure == rows[0].figure && !$0.isPooled } }

    /// The loss of throughput, or the rise of another figure, that would have been found in half of
    /// the cases.
    var detectableShare: Double {
        let shares = mainRows.map { row in
            row.figure == .throughput ? 1 - 1 / row.detectable : row.detectable - 1
        }.sorted()
        return shares[shares.count / 2]
    }

    /// The last sentence: how many differences, and which could have been found.
    var summary: String {
        let worse = rows.count { $0.verdict == .worse } + newFailures.count
        let better = rows.count { $0.verdict == .better }
        let figure = rows[0].figure
        return
            (worse + better == 0
            ? "No difference found beyond the noise. "
            : "\(worse) worse, \(better) better, of \(FigureText.counted(rows.count, "figure")). ")
            + "A \(figure == .throughput ? "loss" : "rise") of at least "
            + "\(FigureText.percent(detectableShare)) in \(figure.rawValue) can be found"
            + (mainRows.count == 1 ? "." : " in half of the cases.") + gate
    }

    /// The sentence of `--fail-below`, after the last sentence.
    private var gate: String {
        guard let failBelow else { return "" }
        let count = rows.count(where: fails)
        let compared = FigureText.counted(mainRows.count, "case")
        return " \(count == 0 ? "No throughput" : FigureText.counted(count, "throughput")) "
            + "\(count > 1 ? "are" : "is") surely below \(failBelow) of the one before, in "
            + "\(compared) of \(caseCount)."
    }
}

extension ComparisonReport {
    /// The report of a run with the same results as this one: so an obstacle to a comparison can be
    /// reported before the run.
    package func expected(of run: ComparisonRun, on fingerprint: Fingerprint) -> Self {
        var expected = self
        (expected.settings, expected.fingerprint) = (run.settings, fingerprint)
        expected.fingerprint.cacheLine = self.fingerprint.cacheLine
        expected.cases = run.plannedCases.compactMap { planned in
            let found = cases.first {
                $0.strategy == planned.strategy && $0.threads == planned.threads
            }
            guard var entry = found, let measured = entry.counted.first else { return nil }
            entry.workload = planned.workload
            entry.repeats = (0..<run.settings.repeats).map { index in
                var one = measured
                one.index = index
                return one
            }
            return entry
        }
        return expected
    }

    /// The kind of measurement; figures of different kinds are not compared.
    fileprivate var kind: String {
        guard settings.transport == .memory else { return "a service over HTTP" }
        return settings.arrival == .closed ? "a closed loop in process" : "an open loop in process"
    }

    /// The share of the processors' time that others left to the run.
    ///
    /// Its square limits the difference that they can explain: a thread that loses its processor
    /// while it holds a lock makes others wait, too.
    fileprivate var keptShare: Double {
        let foreign =
            (conditions.foreignProcessors ?? 0) / Double(max(1, fingerprint.processorsOnline))
        let throttled = (conditions.throttledSeconds ?? 0) / max(1e-3, elapsedSeconds)
        return max(0.01, 1 - foreign - (conditions.stealRatio ?? 0) - throttled)
    }
}

extension [ComparisonReport] {
    /// When the runs began: the first day, and of several their number.
    fileprivate var days: String { self[0].day + (count > 1 ? " (\(count) reports)" : "") }

    /// The checks that failed in any of the runs, each once.
    fileprivate var failures: [ComparisonReport.Verdict] {
        let failed = flatMap(\.verdicts).filter { $0.outcome == .failed }
        return failed.map(\.failure).uniqued().compactMap { name in
            failed.first { $0.failure == name }
        }
    }

    fileprivate func notes(_ name: String) -> [String] {
        flatMap {
            $0.conditions.findings + $0.conditions.disturbances + [$0.earlyEnd].compactMap(\.self)
        }
        .uniqued().map { "In \(count > 1 ? "a" : "the") report \(name): \($0)" }
    }
}

extension ComparisonReport.Verdict {
    fileprivate var failure: String { "`\(strategy)` fails the check '\(check.rawValue)'" }
}
