internal import LatchkeyComparison
import LatchkeySync

/// Which case of one report is which of another.
///
/// A case is known by its strategy, its threads and its workload. A dimension of the workload that
/// has one value in each report, and not the same, is what was changed on purpose: it is left out
/// of the comparison and said.
struct CaseMatching {
    struct Pair {
        var before: ComparisonReport.Case
        var after: ComparisonReport.Case

        /// Whether nothing but one thread decides the case's figures: what it measures varies much
        /// less than what several threads, or a pool of them, do to each other.
        var isOneThread: Bool {
            let isPool =
                StrategyKind(rawValue: after.strategy)?.traits.appliesWritesAsynchronously ?? false
            return after.threads == 1 && after.workload.threadMode == nil && !isPool
        }
    }

    let pairs: [Pair]
    let notes: [String]
    let isOneWorkload: Bool

    init(_ before: ComparisonReport, _ after: ComparisonReport) {
        let changed = WorkloadText.Dimension.allCases.filter { dimension in
            let old = before.cases.map { dimension.value($0.workload) }.uniqued()
            let new = after.cases.map { dimension.value($0.workload) }.uniqued()
            return old.count == 1 && new.count == 1 && old != new
        }
        let kept = WorkloadText.Dimension.allCases.filter { !changed.contains($0) }
        func key(_ entry: ComparisonReport.Case) -> [String] {
            [entry.strategy, "\(entry.threads)"] + kept.map { $0.value(entry.workload) }
        }
        let old = Dictionary(
            before.cases.map { (key($0), $0) },
            uniquingKeysWith: { one, _ in one }
        )
        pairs = after.cases.compactMap { entry in
            old[key(entry)].map { Pair(before: $0, after: entry) }
        }
        isOneWorkload = after.cases.map(\.workload).uniqued().count == 1
        notes = Self.notes(before, after, changed, pairCount: pairs.count)
    }

    private static func notes(
        _ before: ComparisonReport,
        _ after: ComparisonReport,
        _ changed: [WorkloadText.Dimension],
        pairCount: Int
    ) -> [String] {
        var notes: [String] = []
        for dimension in changed {
            if let old = before.cases.first, let new = after.cases.first {
                notes.append(
                    "The \(dimension.name) differs on purpose: \(dimension.value(old.workload)) "
                        + "before, \(dimension.value(new.workload)) after."
                )
            }
        }
        let left = before.cases.count + after.cases.count - 2 * pairCount
        if left > 0 {
            notes.append(
                "In one report only, and not compared: \(FigureText.counted(left, "case"))."
            )
        }
        let (old, new) = (before.fingerprint, after.fingerprint)
        let facts: [(String, String?, String?)] = [
            ("processor", old.processorModel, new.processorModel),
            ("number of processors", "\(old.processorsOnline)", "\(new.processorsOnline)"),
            ("kernel", old.kernel, new.kernel),
            ("Swift", old.swiftVersionAtLeast, new.swiftVersionAtLeast),
            ("build", old.configuration, new.configuration),
            ("Mutex", old.mutex.kind.rawValue, new.mutex.kind.rawValue),
        ]
        for (name, old, new) in facts where old != new {
            notes.append("The \(name) differs: \(old ?? "unknown"), then \(new ?? "unknown").")
        }
        let stepNote = stepNote(
            before.instrument.stepNanoseconds,
            after.instrument.stepNanoseconds
        )
        return notes + (stepNote.map { [$0] } ?? [])
    }

    /// By how much the length of a step of work may differ between two reports.
    private static let stepRatioMax = 1.05

    /// What to know if the same nanoseconds of work were not the same work.
    private static func stepNote(_ old: Double?, _ new: Double?) -> String? {
        guard let old, let new, min(old, new) > 0, max(old, new) > stepRatioMax * min(old, new)
        else { return nil }
        return """
            A step of work took \(FigureText.duration(nanoseconds: old)), then \
            \(FigureText.duration(nanoseconds: new)): the same section in nanoseconds is not the \
            same work.
            """
    }
}
