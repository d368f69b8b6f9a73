internal import LatchkeyComparison

/// Workloads in words.
enum WorkloadText {
    typealias Workload = ComparisonReport.Workload

    /// `50 % reads, section 50 ns, outside 200 ns`, and what else is not the plainest.
    static func description(_ workload: Workload) -> String {
        WorkloadDimension.all.compactMap { $0.phrase(workload) }.joined(separator: ", ")
    }

    /// `on 4 threads`, or over the wire `over 4 connections`.
    static func threads(_ count: Int, _ workload: Workload, from range: String = "") -> String {
        (workload.threadMode == nil ? "on " : "over ") + range + countedThreads(count, workload)
    }

    /// `4 threads`, or over the wire `4 connections`.
    static func countedThreads(_ count: Int, _ workload: Workload) -> String {
        FigureText.counted(count, threadNoun(workload))
    }

    /// Where a whole run took place: what its situations have in common.
    static func place(of situations: [Ranking.Situation]) -> String {
        guard let first = situations.first else { return "" }
        let counts = situations.map(\.threads).uniqued().sorted()
        let range = counts.count > 1 ? "\(counts[0]) to " : ""
        let threads = threads(counts.last ?? 1, first.workload, from: range)
        let workloads = situations.map(\.workload).uniqued()
        let phrases = WorkloadDimension.all.compactMap { dimension in
            let phrases = workloads.map(dimension.phrase).uniqued()
            return phrases.count == 1 ? phrases[0] : "varied \(dimension.name)"
        }
        return threads + " (" + phrases.joined(separator: ", ") + ")"
    }

    /// How one situation differs from the others of its run: `on 1 thread`, `with 95 % reads`.
    static func difference(
        of situation: Ranking.Situation,
        among situations: [Ranking.Situation]
    ) -> String {
        let workloads = situations.map(\.workload).uniqued()
        let phrases = WorkloadDimension.all.compactMap { dimension -> String? in
            guard workloads.map(dimension.value).uniqued().count > 1 else { return nil }
            return dimension.phrase(situation.workload)
                ?? "\(dimension.name) \(dimension.value(situation.workload))"
        }
        let threads = threads(situation.threads, situation.workload)
        return phrases.isEmpty ? threads : threads + " with " + phrases.joined(separator: ", ")
    }

    /// Where one strategy overtakes another, in a sentence.
    static func crossing(_ crossing: ComparisonReport.Crossover, namesWorkload: Bool) -> String {
        let (from, to, at) = (crossing.from, crossing.to, crossing.at)
        let place: String
        var dimensions = WorkloadDimension.all
        switch crossing.axis {
        case .threads:
            place =
                "\(FigureText.fixed(from, 0)) and \(FigureText.fixed(to, 0)) "
                + "\(threadNoun(crossing.workload))s"
                // Between neighbours there is no number of threads to name.
                + (to - from <= 1 ? "" : ", at about \(FigureText.fixed(at, 1)),")
        case .readRatio:
            dimensions.removeAll { $0.name == WorkloadDimension.readRatioName }
            place =
                "\(FigureText.percent(from)) and \(FigureText.percent(to)) reads"
                + (crossing.threads.map { " " + threads($0, crossing.workload) } ?? "")
                + ", at about \(FigureText.percent(at)),"
        }
        let phrases = dimensions.compactMap { $0.phrase(crossing.workload) }
        let workload = namesWorkload ? " (\(phrases.joined(separator: ", ")))" : ""
        return "Between \(place) `\(crossing.fasterAbove)` overtakes "
            + "`\(crossing.fasterBelow)`\(workload)."
    }

    static func threadNoun(_ workload: Workload) -> String {
        workload.threadMode == nil ? "thread" : "connection"
    }
}

/// One of the ways in which workloads differ.
struct WorkloadDimension {
    let name: String
    /// The value as the command line spells it.
    let value: (ComparisonReport.Workload) -> String
    /// The value in words; `nil` for a default that nobody needs to read.
    let phrase: (ComparisonReport.Workload) -> String?

    static let readRatioName = "read ratio"

    static var all: [WorkloadDimension] {
        [
            Self(name: readRatioName, value: { shortText($0.readRatio) }) { workload in
                switch workload.readRatio {
                case 0: "writes only"
                case 1: "reads only"
                case let ratio: FigureText.percent(ratio) + " reads"
                }
            },
            Self(name: "section", value: { "\($0.sectionNanoseconds)" }) { workload in
                workload.threadMode == nil
                    ? "section \(duration(workload.sectionNanoseconds))" : nil
            },
            Self(name: "outside", value: { $0.outside.description }) { workload in
                let (time, isScaled) = (
                    workload.outside.nanoseconds, workload.outside.scalesWithThreads
                )
                return workload.threadMode == nil
                    ? "outside \(duration(time))" + (isScaled ? " × threads" : "") : nil
            },
            Self(name: "keys", value: { "\($0.keys)" }) { $0.keys == 1 ? nil : "\($0.keys) keys" },
            Self(name: "skew", value: { $0.skew.description }) { workload in
                guard case .zipf(let exponent) = workload.skew else { return nil }
                return "Zipf \(shortText(exponent))"
            },
            Self(name: "stripes", value: { "\($0.stripes)" }) { workload in
                workload.stripes == 1 ? nil : "\(workload.stripes) stripes"
            },
            Self(name: "arrival", value: { $0.arrival.description }) { workload in
                guard case .open(let rate) = workload.arrival else { return nil }
                return "\(FigureText.count(rate)) \(FigureText.plural("arrival", rate)) per second"
            },
            Self(name: "thread mode", value: { $0.threadMode?.rawValue ?? "" }) { workload in
                workload.threadMode?.rawValue
            },
        ]
    }

    private static func duration(_ nanoseconds: Int) -> String {
        FigureText.duration(nanoseconds: Double(nanoseconds))
    }
}
