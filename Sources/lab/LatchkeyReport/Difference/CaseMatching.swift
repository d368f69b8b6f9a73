internal import LatchkeyComparison

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
    let isOneWorkload: Bool

    init(_ before: ComparisonReport, _ after: ComparisonReport) {
        func values(_ report: ComparisonReport) -> [String: [String]] {
            let all = report.cases.flatMap(\.workload.dimensions)
            return Dictionary(grouping: all, by: \.name).mapValues { $0.map(\.value).uniqued() }
        }
        let (old, new) = (values(before), values(after))
        let changed = (after.cases.first?.workload.dimensions ?? []).map(\.name).filter { name in
            old[name]?.count == 1 && new[name]?.count == 1 && old[name] != new[name]
        }
        var notes = changed.map { name in
            let unit = ["section", "outside"].contains(name) ? " ns" : ""
            return "--\(name.replacing(" ", with: "-")) was changed: "
                + "\(old[name]?.first ?? "")\(unit) before, \(new[name]?.first ?? "")\(unit) after."
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
        self.notes = notes + Self.machineNotes(before, after)
    }

    /// The greatest ratio of the lengths of a step of work in two reports.
    private static let stepRatioMax = 1.05

    private static func machineNotes(
        _ before: ComparisonReport,
        _ after: ComparisonReport
    ) -> [String] {
        func facts(_ print: ComparisonReport.Fingerprint) -> [(name: String, value: String?)] {
            [
                ("processor", print.processorModel),
                ("number of processors", "\(print.processorsOnline)"),
                ("kernel", print.kernel), ("Swift", print.swiftVersionAtLeast),
                ("build", print.configuration), ("Mutex", print.mutex.kind.rawValue),
            ]
        }
        let notes = zip(facts(before.fingerprint), facts(after.fingerprint))
            .filter { $0.value != $1.value }.map { old, new in
                "The \(old.name) differs: \(old.value ?? "unknown") before, "
                    + "\(new.value ?? "unknown") after."
            }
        guard let old = before.instrument.stepNanoseconds,
            let new = after.instrument.stepNanoseconds,
            min(old, new) > 0, max(old, new) > stepRatioMax * min(old, new)
        else { return notes }
        return notes + [
            "A step of work took \(FigureText.duration(nanoseconds: old)) before and "
                + "\(FigureText.duration(nanoseconds: new)) after: the same section in nanoseconds "
                + "is not the same work."
        ]
    }
}
