internal import Foundation
internal import LatchkeyComparison
internal import LatchkeyVerdict

/// The cases that all reports before and after have, and the other differences of the reports.
///
/// A case is known by its strategy, its threads and its workload. A dimension of the workload that
/// has one value on each side, and not the same, was changed on purpose: it is left out of the
/// comparison, and a note names it.
struct CaseMatching {
    /// One case in each report of a side, with the planned seconds of a repeat.
    typealias Runs = [(entry: ComparisonReport.Case, duration: Double)]

    /// The sides before and after.
    private typealias Sides = [[ComparisonReport]]
    private typealias Fact = (
        name: String, value: @Sendable (ComparisonReport.Fingerprint) -> String?
    )

    let pairs: [(before: Runs, after: Runs)]
    private(set) var notes: [String]
    /// The differences between the machines, a sentence each: then the change is not to blame.
    let machineNotes: [String]
    /// The beginning of a sentence that a cache line took another way.
    private(set) var distance: String?
    let isOneWorkload: Bool

    init(_ before: [ComparisonReport], _ after: [ComparisonReport]) {
        let sides = [before, after]
        let values = sides.map { side in
            Dictionary(grouping: side.flatMap(\.cases).flatMap(\.workload.dimensions), by: \.name)
                .mapValues { $0.map(\.value).uniqued() }
        }
        let names = after.flatMap(\.cases).first?.workload.dimensions.map(\.name) ?? []
        let changed = names.filter { name in
            let found = values.compactMap { $0[name] }
            return found.map(\.count) == [1, 1] && found[0] != found[1]
        }
        func key(_ entry: ComparisonReport.Case) -> [String] {
            let kept = entry.workload.dimensions.filter { !changed.contains($0.name) }
            return [entry.strategy, "\(entry.threads)"] + kept.map(\.value)
        }
        let runs = sides.map { side in
            side.reduce(into: [[String]: Runs]()) { runs, report in
                for (key, entries) in Dictionary(grouping: report.cases, by: key) {
                    runs[key, default: []].append((entries[0], report.settings.durationSeconds))
                }
            }.filter { $1.count == side.count }
        }
        pairs = after[0].cases.map(key).uniqued().compactMap { key in
            guard let old = runs[0][key], let new = runs[1][key] else { return nil }
            return (old, new)
        }
        notes = changed.map { name in
            let unit = ["section", "outside"].contains(name) ? " ns" : ""
            let values = values.map { "\($0[name]?.first ?? "")\(unit)" }
            return "--\(name.replacing(" ", with: "-")) was changed: \(values[0]) before, "
                + "\(values[1]) after."
        }
        let all = before + after
        let left = all.map(\.cases.count).reduce(0, +) - all.count * pairs.count
        if left > 0 {
            let place = all.count > 2 ? "Not in every report" : "In one report only"
            notes.append("\(place), and not compared: \(FigureText.counted(left, "case")).")
        }
        isOneWorkload = after.flatMap(\.cases).map(\.workload).uniqued().count == 1
        // A report leaves out the facts that it does not know.
        machineNotes = Self.differing(sides, Self.machine, unknown: nil)
        notes += Self.differing(sides, Self.software, unknown: "unknown")
        if let (_, times) = Self.differing(sides, by: 1.05, \.instrument.stepNanoseconds) {
            notes.append(
                "A step of work took \(times[0]) before and \(times[1]) after: the same section in "
                    + "nanoseconds is not the same work."
            )
        }
        // The speed of shared data depends on the time of a cache line.
        if let (isMore, times) = Self.differing(
            sides,
            by: 1.5,
            \.fingerprint.cacheLine?.averageNanoseconds
        ) {
            distance =
                "The processors were \(isMore ? "farther apart" : "nearer to each other") "
                + "after than before: a cache line took \(times[0]) there and back before and "
                + "\(times[1]) after, on average. What several threads do follows that"
        }
    }

    /// Facts that make the same program faster or slower.
    private static let machine: [Fact] = [
        ("architecture", \.architecture), ("processor", \.processorModel),
        ("number of processors", { "\($0.processorsOnline)" }),
        ("list of processors that may be used", \.processorsAllowed),
        ("quota of processors", { $0.processorQuota.map { FigureText.fixed($0, 2) } ?? "none" }),
    ]

    /// Facts that can be the change under test.
    private static let software: [Fact] = [
        ("version of latchkey", \.latchkeyVersion), ("kernel", \.kernel),
        ("Swift", \.swiftVersionAtLeast), ("build", \.configuration),
        ("Mutex", { $0.mutex.kind.rawValue }),
    ]

    /// The facts that are not the same in all reports, a sentence each.
    private static func differing(_ sides: Sides, _ facts: [Fact], unknown: String?) -> [String] {
        facts.compactMap { fact in
            let values = sides.map { side in
                side.compactMap { fact.value($0.fingerprint) ?? unknown }.uniqued()
            }
            guard values.joined().uniqued().count > 1 else { return nil }
            let texts = values.map { $0.joined(separator: " and ") }
            return "The \(fact.name) differs: \(texts[0]) before, \(texts[1]) after."
        }
    }

    /// A time that differs by at least this factor: whether there is more of it after, and both.
    private static func differing(
        _ sides: Sides,
        by ratioMin: Double,
        _ time: (ComparisonReport) -> Double?
    ) -> (isMore: Bool, texts: [String])? {
        let means = sides.compactMap { side -> Double? in
            let times = side.compactMap(time).filter { $0 > 0 }
            return times.isEmpty ? nil : pow(times.reduce(1, *), 1 / Double(times.count))
        }
        guard means.count == 2, max(means[0], means[1]) >= ratioMin * min(means[0], means[1])
        else { return nil }
        return (means[1] > means[0], means.map { FigureText.duration(nanoseconds: $0) })
    }
}
