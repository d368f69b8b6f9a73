internal import LatchkeyComparison
internal import LatchkeyVerdict

/// The pairs of equal cases in two reports.
///
/// A case is known by its strategy, its threads and its workload. A dimension of the workload that
/// has one value in each report, and not the same, was changed on purpose: it is left out of the
/// comparison, and a note names it.
struct CaseMatching {
    struct Pair {
        var before: ComparisonReport.Case
        var after: ComparisonReport.Case
        /// The planned seconds of a repeat.
        var durationBefore: Double
        var durationAfter: Double

        /// Whether one thread alone decides the figures of the case.
        var isOneThread: Bool {
            after.threads == 1 && after.workload.transport == nil && !after.waitsForItself
        }
    }

    let pairs: [Pair]
    let notes: [String]
    /// What differs between the machines, a sentence each: then the change is not to blame.
    let machineNotes: [String]
    /// That a cache line took another way, in a sentence without its end.
    let distance: String?
    let isOneWorkload: Bool

    init(_ before: ComparisonReport, _ after: ComparisonReport) {
        func values(_ report: ComparisonReport) -> [String: [String]] {
            let all = report.cases.flatMap(\.workload.dimensions)
            return Dictionary(grouping: all, by: \.name).mapValues { $0.map(\.value).uniqued() }
        }
        let (oldValues, newValues) = (values(before), values(after))
        let changed = (after.cases.first?.workload.dimensions ?? []).map(\.name).filter { name in
            oldValues[name]?.count == 1 && newValues[name]?.count == 1
                && oldValues[name] != newValues[name]
        }
        var notes = changed.map { name in
            let unit = ["section", "outside"].contains(name) ? " ns" : ""
            let values = [oldValues, newValues].map { "\($0[name]?.first ?? "")\(unit)" }
            return "--\(name.replacing(" ", with: "-")) was changed: \(values[0]) before, "
                + "\(values[1]) after."
        }
        func key(_ entry: ComparisonReport.Case) -> [String] {
            let kept = entry.workload.dimensions.filter { !changed.contains($0.name) }
            return [entry.strategy, "\(entry.threads)"] + kept.map(\.value)
        }
        let earlier = Dictionary(
            before.cases.map { (key($0), $0) },
            uniquingKeysWith: { one, _ in one }
        )
        pairs = after.cases.compactMap { entry in
            earlier[key(entry)].map { found in
                Pair(
                    before: found,
                    after: entry,
                    durationBefore: before.settings.durationSeconds,
                    durationAfter: after.settings.durationSeconds
                )
            }
        }
        let left = before.cases.count + after.cases.count - 2 * pairs.count
        if left > 0 {
            notes.append(
                "In one report only, and not compared: \(FigureText.counted(left, "case"))."
            )
        }
        isOneWorkload = after.cases.map(\.workload).uniqued().count == 1
        let prints = (before.fingerprint, after.fingerprint)
        // What a report leaves out, it does not know.
        let (old, new) = (Self.machine(prints.0), Self.machine(prints.1))
        let known = old.indices.filter { old[$0].value != nil && new[$0].value != nil }
        machineNotes = Self.differing(known.map { old[$0] }, known.map { new[$0] })
        self.notes =
            notes + Self.differing(Self.software(prints.0), Self.software(prints.1))
            + Self.stepNotes(before, after)
        distance = Self.distance(before, after)
    }

    /// The greatest ratio of the lengths of a step of work in two reports.
    private static let stepRatioMax = 1.05
    /// The least ratio of the averages at which a cache line took another way.
    private static let distanceRatioMin = 1.5

    private typealias Fact = (name: String, value: String?)

    /// What makes the same program faster or slower.
    private static func machine(_ print: ComparisonReport.Fingerprint) -> [Fact] {
        [
            ("architecture", print.architecture), ("processor", print.processorModel),
            ("number of processors", "\(print.processorsOnline)"),
            ("list of processors that may be used", print.processorsAllowed),
            ("quota of processors", print.processorQuota.map { FigureText.fixed($0, 2) } ?? "none"),
        ]
    }

    /// What can be the change that is looked at.
    private static func software(_ print: ComparisonReport.Fingerprint) -> [Fact] {
        [
            ("version of latchkey", print.latchkeyVersion), ("kernel", print.kernel),
            ("Swift", print.swiftVersionAtLeast), ("build", print.configuration),
            ("Mutex", print.mutex.kind.rawValue),
        ]
    }

    private static func differing(_ before: [Fact], _ after: [Fact]) -> [String] {
        zip(before, after).filter { $0.value != $1.value }.map { old, new in
            "The \(old.name) differs: \(old.value ?? "unknown") before, "
                + "\(new.value ?? "unknown") after."
        }
    }

    private static func stepNotes(
        _ before: ComparisonReport,
        _ after: ComparisonReport
    ) -> [String] {
        guard let old = before.instrument.stepNanoseconds,
            let new = after.instrument.stepNanoseconds,
            min(old, new) > 0, max(old, new) > stepRatioMax * min(old, new)
        else { return [] }
        return [
            "A step of work took \(FigureText.duration(nanoseconds: old)) before and "
                + "\(FigureText.duration(nanoseconds: new)) after: the same section in nanoseconds "
                + "is not the same work."
        ]
    }

    /// That the processors were nearer to each other in one of the runs: what several threads
    /// share follows the way of a cache line.
    private static func distance(
        _ before: ComparisonReport,
        _ after: ComparisonReport
    ) -> String? {
        guard let old = before.fingerprint.cacheLine?.averageNanoseconds,
            let new = after.fingerprint.cacheLine?.averageNanoseconds,
            min(old, new) > 0, max(old, new) >= distanceRatioMin * min(old, new)
        else { return nil }
        let times = [old, new].map { FigureText.duration(nanoseconds: $0) }
        return "The processors were \(new > old ? "farther apart" : "nearer to each other") "
            + "after than before: a cache line took \(times[0]) there and back before and "
            + "\(times[1]) after, on average. What several threads do follows that"
    }
}
