internal import Foundation
package import LatchkeyComparison

/// What changed between two reports, beyond the noise: `latchkey compare --from a --against b`.
///
/// Cases of the same strategy, threads and workload are compared by throughput, or in an open loop
/// by p99 of the response from when an operation was due; over HTTP also by p99 of the response
/// that the client saw; and by processor time per operation, p99 of the wait and mean hold. So are
/// all cases together, of each strategy and of all strategies, which finds what is small but
/// everywhere. ``DifferenceTest`` says which differences are more than noise; cases of one thread
/// are judged among themselves, since several threads vary by ten times as much. A check that fails
/// and did not before is worse, too.
///
/// Two runs of one build on a machine that was busy in one of them differ truly, in throughput and
/// waits. If the conditions of a report forbid a ranking, only the processor time of one thread is
/// compared, which other processes hardly change, unless the comparison is forced.
package struct ReportDifference {
    package enum Change: String, Sendable {
        case same = "no difference found"
        case better
        case worse
    }

    package enum Figure: String, Sendable, CaseIterable {
        case throughput
        case responseP99 = "response p99"
        case processorTime = "processor time"
        case waitP99 = "wait p99"
        case holdMean = "mean hold"
    }

    package struct Row: Sendable {
        package var strategy: String
        /// Where: threads and workload, or all cases.
        package var place: String
        package var figure: Figure
        /// Geometric means over the repeats.
        ///
        /// `nil` for a strategy over all its cases.
        package var before: Double?
        package var after: Double?
        /// After over before, minus 1.
        package var change: Double
        package var verdict: Change
    }

    /// Fewer repeats than this tell nothing about noise.
    package static let repeatsMin = 3

    package let rows: [Row]
    /// How many cases were compared.
    package let caseCount: Int
    /// What a reader has to know beside the rows, a sentence each.
    package let notes: [String]
    /// Checks that passed before and fail now, a sentence each.
    package let newFailures: [String]
    /// The loss of throughput, or the rise of another figure, that would have been found in half of
    /// the cases; and which figure it is.
    package let detectableShare: Double
    package let detectableFigure: Figure

    package var isWorse: Bool {
        !newFailures.isEmpty || rows.contains { $0.verdict == .worse }
    }

    /// Compares two reports.
    ///
    /// - Parameters:
    ///   - before: the earlier report.
    ///   - after: the later one, in which things may be worse.
    ///   - isForced: whether to compare everything under whatever conditions.
    /// - Throws: A sentence if the reports have nothing that can be compared.
    package init(
        from before: ComparisonReport,
        against after: ComparisonReport,
        isForced: Bool = false
    ) throws(ReportFileError) {
        guard before.kind == after.kind else {
            throw ReportFileError(
                message:
                    "One report is of \(before.kind) and the other of \(after.kind): nothing in "
                    + "them compares."
            )
        }
        let matching = CaseMatching(before.withDurations, after.withDurations)
        guard !matching.pairs.isEmpty else {
            throw ReportFileError(message: "The two reports have no case in common.")
        }
        let pairs = matching.pairs.filter {
            min($0.before.repeats.count, $0.after.repeats.count) >= Self.repeatsMin
        }
        guard !pairs.isEmpty else {
            throw ReportFileError(
                message:
                    "The reports have fewer than \(Self.repeatsMin) repeats of each case, which "
                    + "tell nothing about noise."
            )
        }
        var hypotheses = pairs.flatMap {
            Hypothesis.cases($0, isOnlyWorkload: matching.isOneWorkload)
        }
        let isQuiet = [before, after].allSatisfy(\.conditions.findings.isEmpty)
        if !isQuiet, !isForced {
            hypotheses = hypotheses.compactMap(\.underLoad)
            guard !hypotheses.isEmpty else {
                throw ReportFileError(message: Self.busySentence(before, after))
            }
        }
        hypotheses += Hypothesis.pooled(hypotheses)
        let outcomes = DifferenceTest.outcomes(hypotheses.map(\.test))
        rows = zip(hypotheses, outcomes).map { $0.row($1) }
        let figure = hypotheses.first?.figure ?? .throughput
        detectableFigure = figure
        let detectable = zip(hypotheses, outcomes).filter { hypothesis, _ in
            hypothesis.figure == figure && !hypothesis.isPooled
        }.map { figure.isBetterHigher ? 1 - exp(-$1.detectable) : exp($1.detectable) - 1 }.sorted()
        caseCount = detectable.count
        detectableShare = detectable.isEmpty ? 0 : detectable[detectable.count / 2]
        notes =
            matching.notes + Self.notes(before, "before") + Self.notes(after, "after")
            + Self.oldFailures(before, after)
            + (isQuiet || isForced ? [] : [Self.restriction])
        newFailures = Self.newFailures(before, after)
    }

    private static func notes(_ report: ComparisonReport, _ name: String) -> [String] {
        var notes = report.conditions.findings.map { "In the report \(name): \($0)" }
        if report.isInterrupted { notes.append("The run \(name) was interrupted.") }
        return notes
    }

    private static let restriction =
        "Under these conditions only the processor time of one thread is compared, which other "
        + "processes hardly change. --force compares everything."

    private static func busySentence(
        _ before: ComparisonReport,
        _ after: ComparisonReport
    ) -> String {
        let findings = (before.conditions.findings + after.conditions.findings).uniqued()
        return "The reports were taken under conditions that change throughput by themselves, and "
            + "have no case of one thread in process. " + findings.joined(separator: " ")
            + " --force compares them all the same."
    }

    private static func newFailures(
        _ before: ComparisonReport,
        _ after: ComparisonReport
    ) -> [String] {
        after.failures.filter { !before.hasFailed($0) }.map { verdict in
            "`\(verdict.strategy)` fails the check '\(verdict.check.rawValue)' now, and did not "
                + "before. " + (verdict.finding ?? "")
        }
    }

    private static func oldFailures(
        _ before: ComparisonReport,
        _ after: ComparisonReport
    ) -> [String] {
        after.failures.filter(before.hasFailed).map { verdict in
            "`\(verdict.strategy)` fails the check '\(verdict.check.rawValue)' as before."
        }
    }
}

extension ComparisonReport {
    /// What its figures are of, as far as no figure of another kind compares with them.
    fileprivate var kind: String {
        guard settings.transport == .memory else { return "a service over HTTP" }
        return settings.arrival == .closed ? "a closed loop in process" : "an open loop in process"
    }

    fileprivate var failures: [Verdict] { verdicts.filter { $0.outcome == .failed } }

    fileprivate func hasFailed(_ verdict: Verdict) -> Bool {
        failures.contains { $0.strategy == verdict.strategy && $0.check == verdict.check }
    }

    /// The report in which a repeat that did nothing has lasted as long as it was to.
    ///
    /// Its own duration may be 0 in a report. It must not be left out: it is the slowest of all.
    fileprivate var withDurations: ComparisonReport {
        var report = self
        for index in report.cases.indices {
            for place in report.cases[index].repeats.indices
            where report.cases[index].repeats[place].seconds <= 0 {
                report.cases[index].repeats[place].seconds = settings.durationSeconds
            }
        }
        return report
    }
}

/// One figure of one case, or of one strategy over all its cases, in both reports.
private struct Hypothesis {
    var strategy: String
    var place: String
    var figure: ReportDifference.Figure
    var isPooled: Bool
    /// Whether nothing but this one thread decides the figure.
    var isOneThread: Bool
    var test: DifferenceTest.Case

    /// The hypothesis as it can be judged on a busy machine; `nil` if it cannot.
    ///
    /// What neighbours do to the caches and the clock of the processor still counts for some
    /// percent.
    var underLoad: Hypothesis? {
        guard isOneThread, figure == .processorTime else { return nil }
        var hypothesis = self
        hypothesis.test.leastDifference = log(1.1)
        return hypothesis
    }

    static func cases(_ pair: CaseMatching.Pair, isOnlyWorkload: Bool) -> [Hypothesis] {
        let workload = isOnlyWorkload ? "" : ", " + WorkloadText.description(pair.after.workload)
        let place = WorkloadText.threads(pair.after.threads, pair.after.workload) + workload
        return ReportDifference.Figure.allCases.compactMap { figure in
            guard let before = figure.logarithms(pair.before),
                let after = figure.logarithms(pair.after)
            else { return nil }
            return Hypothesis(
                strategy: pair.after.strategy,
                place: place,
                figure: figure,
                isPooled: false,
                isOneThread: pair.isOneThread,
                test: DifferenceTest.Case(
                    before: before,
                    after: after,
                    leastDifference: figure.leastDifference,
                    family: figure.rawValue + (pair.isOneThread ? ", one thread" : "")
                )
            )
        }
    }

    /// Each strategy over all its cases, everything, and everything on one thread: the mean of the
    /// cases in each round.
    static func pooled(_ cases: [Hypothesis]) -> [Hypothesis] {
        let strategies = cases.map(\.strategy).uniqued()
        return ReportDifference.Figure.allCases.flatMap { figure in
            let all = cases.filter { $0.figure == figure }
            let groups =
                strategies.map { name in (name, all.filter { $0.strategy == name }) }
                + (strategies.count > 1 ? [("all", all)] : [])
            let pooled = groups.filter { $0.1.count > 1 }.map { name, members in
                Hypothesis(
                    pooling: members,
                    strategy: name,
                    place: "all \(members.count) cases",
                    family: figure.rawValue + ", pooled"
                )
            }
            let alone = all.filter(\.isOneThread)
            guard alone.count > 1, alone.count < all.count else { return pooled }
            return pooled + [
                Hypothesis(
                    pooling: alone,
                    strategy: "all",
                    place: "the \(alone.count) cases of one thread",
                    family: figure.rawValue + ", one thread, pooled"
                )
            ]
        }
    }

    private init(pooling members: [Hypothesis], strategy: String, place: String, family: String) {
        self.init(
            strategy: strategy,
            place: place,
            figure: members[0].figure,
            isPooled: true,
            isOneThread: members.allSatisfy(\.isOneThread),
            test: DifferenceTest.Case(
                before: Self.meanByRound(members.map(\.test.before)),
                after: Self.meanByRound(members.map(\.test.after)),
                leastDifference: members[0].test.leastDifference,
                family: family
            )
        )
    }

    private init(
        strategy: String,
        place: String,
        figure: ReportDifference.Figure,
        isPooled: Bool,
        isOneThread: Bool,
        test: DifferenceTest.Case
    ) {
        self.strategy = strategy
        self.place = place
        self.figure = figure
        self.isPooled = isPooled
        self.isOneThread = isOneThread
        self.test = test
    }

    private static func meanByRound(_ cases: [[Double]]) -> [Double] {
        let rounds = cases.map(\.count).min() ?? 0
        return (0..<rounds).map { round in
            cases.map { $0[round] }.reduce(0, +) / Double(cases.count)
        }
    }

    func row(_ outcome: DifferenceTest.Outcome) -> ReportDifference.Row {
        func mean(_ logarithms: [Double]) -> Double {
            exp(logarithms.reduce(0, +) / Double(logarithms.count))
        }
        let isGain = (outcome.difference > 0) == figure.isBetterHigher
        return ReportDifference.Row(
            strategy: strategy,
            place: place,
            figure: figure,
            before: isPooled ? nil : mean(test.before),
            after: isPooled ? nil : mean(test.after),
            change: exp(outcome.difference) - 1,
            verdict: outcome.isFound ? (isGain ? .better : .worse) : .same
        )
    }
}

extension ReportDifference.Figure {
    var isBetterHigher: Bool { self == .throughput }

    /// Less than this is not reported, however sure it is: two runs of one build differ by a few
    /// percent, because memory is laid out anew, and by up to six where a virtual machine's
    /// processor was slower for one of them.
    ///
    /// Quantiles come from buckets that double, and the first of them is an upper bound.
    var leastDifference: Double {
        switch self {
        case .throughput, .processorTime, .holdMean: log(1.08)
        case .responseP99: log(1.5)
        case .waitP99: log(2)
        }
    }

    func text(_ value: Double) -> String {
        switch self {
        case .throughput: FigureText.count(value) + "/s"
        case .processorTime, .holdMean, .responseP99: FigureText.duration(nanoseconds: value)
        case .waitP99: FigureText.quantile(nanoseconds: value)
        }
    }

    /// One for each repeat that has the figure; `nil` if those are too few.
    ///
    /// Half an operation stands in for none: a repeat in which the threads never ran is the slowest
    /// of all, and not to be left out.
    fileprivate func logarithms(_ entry: ComparisonReport.Case) -> [Double]? {
        let values = entry.repeats.compactMap { measured -> Double? in
            switch self {
            case .throughput where entry.workload.arrival != .closed: nil
            case .throughput:
                (Double(measured.operations) + 0.5) / measured.seconds
            case .processorTime where measured.operations > 0:
                measured.cpuSeconds.map { $0 * 1e9 / Double(measured.operations) }
            case .processorTime: nil
            case .responseP99:
                (measured.responseFromIntendedStart ?? measured.response)?.p99Nanoseconds
            case .waitP99: measured.wait?.p99Nanoseconds
            case .holdMean: measured.hold?.meanNanoseconds
            }
        }.filter { $0 > 0 && $0.isFinite }
        return values.count >= ReportDifference.repeatsMin ? values.map { log($0) } : nil
    }
}
