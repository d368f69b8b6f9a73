internal import LatchkeyComparison

/// Workloads in words.
enum WorkloadText {
    typealias Workload = ComparisonReport.Workload

    /// `50 % reads, section 50 ns, outside 200 ns`, and what else is not the plainest.
    static func description(_ workload: Workload) -> String {
        Dimension.allCases.compactMap { $0.phrase(workload) }.joined(separator: ", ")
    }

    /// `on 4 threads`, or over the wire `over 4 connections`.
    static func threads(_ count: Int, _ workload: Workload) -> String {
        (workload.threadMode == nil ? "on " : "over ") + countedThreads(count, workload)
    }

    /// `4 threads`, or over the wire `4 connections`.
    static func countedThreads(_ count: Int, _ workload: Workload) -> String {
        FigureText.counted(count, threadNoun(workload))
    }

    /// Where a whole run took place: what its situations have in common.
    static func place(of situations: [Ranking.Situation]) -> String {
        guard let first = situations.first else { return "" }
        let counts = situations.map(\.threads).uniqued().sorted()
        let least = counts.first ?? 1
        let most = counts.last ?? 1
        let unit = threadsNoun(first.workload)
        let threads =
            counts.count == 1
            ? threads(least, first.workload)
            : (first.workload.threadMode == nil ? "on" : "over") + " \(least) to \(most) \(unit)"
        let workloads = situations.map(\.workload).uniqued()
        let phrases = Dimension.allCases.compactMap { dimension in
            let phrases = workloads.map { dimension.phrase($0) }.uniqued()
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
        let phrases = Dimension.allCases.compactMap { dimension -> String? in
            guard workloads.map({ dimension.value($0) }).uniqued().count > 1 else { return nil }
            return dimension.phrase(situation.workload)
                ?? "\(dimension.name) \(dimension.value(situation.workload))"
        }
        let threads = threads(situation.threads, situation.workload)
        return phrases.isEmpty ? threads : threads + " with " + phrases.joined(separator: ", ")
    }

    /// Where one strategy overtakes another, in a sentence.
    static func crossing(
        _ crossing: ComparisonReport.Crossover,
        namesWorkload: Bool
    ) -> String {
        var place: String
        switch crossing.axis {
        case .threads:
            place =
                "Between \(FigureText.fixed(crossing.from, 0)) and "
                + "\(FigureText.fixed(crossing.to, 0)) \(threadsNoun(crossing.workload))"
            if !crossing.isBetweenNeighbors {
                place += ", at about \(FigureText.fixed(crossing.at, 1)),"
            }
        case .readRatio:
            place =
                "Between \(FigureText.percent(crossing.from)) and "
                + "\(FigureText.percent(crossing.to)) reads"
                + (crossing.threads.map { " " + threads($0, crossing.workload) } ?? "")
                + ", at about \(FigureText.percent(crossing.at)),"
        }
        let workload = namesWorkload ? " (\(situation(crossing)))" : ""
        return "\(place) `\(crossing.fasterAbove)` overtakes "
            + "`\(crossing.fasterBelow)`\(workload)."
    }

    static func threadNoun(_ workload: Workload) -> String {
        workload.threadMode == nil ? "thread" : "connection"
    }

    /// What a workload calls its threads, in the plural.
    static func threadsNoun(_ workload: Workload) -> String { threadNoun(workload) + "s" }

    /// The workload of a crossover without the part that is its axis.
    private static func situation(_ crossing: ComparisonReport.Crossover) -> String {
        Dimension.allCases.filter { crossing.axis == .threads || $0 != .readRatio }
            .compactMap { $0.phrase(crossing.workload) }.joined(separator: ", ")
    }

    /// One of the ways in which workloads differ.
    enum Dimension: String, CaseIterable {
        case readRatio
        case section
        case outside
        case keys
        case skew
        case stripes
        case arrival
        case threadMode

        var name: String {
            switch self {
            case .readRatio: "read ratio"
            case .threadMode: "thread mode"
            default: rawValue
            }
        }

        /// The value as the command line spells it.
        func value(_ workload: Workload) -> String {
            switch self {
            case .readRatio: shortText(workload.readRatio)
            case .section: "\(workload.sectionNanoseconds)"
            case .outside: "\(workload.outside)"
            case .keys: "\(workload.keys)"
            case .skew: "\(workload.skew)"
            case .stripes: "\(workload.stripes)"
            case .arrival: "\(workload.arrival)"
            case .threadMode: workload.threadMode?.rawValue ?? ""
            }
        }

        /// The value in words; `nil` for what goes without saying.
        func phrase(_ workload: Workload) -> String? {
            switch self {
            case .readRatio:
                workload.readRatio == 0
                    ? "writes only"
                    : workload.readRatio == 1
                        ? "reads only" : FigureText.percent(workload.readRatio) + " reads"
            case .section:
                workload.threadMode == nil
                    ? "section \(duration(workload.sectionNanoseconds))" : nil
            case .outside where workload.threadMode != nil: nil
            case .outside:
                "outside \(duration(workload.outside.nanoseconds))"
                    + (workload.outside.scalesWithThreads ? " × threads" : "")
            case .keys: workload.keys == 1 ? nil : "\(workload.keys) keys"
            case .skew:
                switch workload.skew {
                case .uniform: nil
                case .zipf(let exponent): "Zipf \(shortText(exponent))"
                }
            case .stripes: workload.stripes == 1 ? nil : "\(workload.stripes) stripes"
            case .arrival:
                switch workload.arrival {
                case .closed: nil
                case .open(let rate):
                    FigureText.count(rate) + " " + FigureText.plural("arrival", rate)
                        + " per second"
                }
            case .threadMode: workload.threadMode?.rawValue
            }
        }

        private func duration(_ nanoseconds: Int) -> String {
            FigureText.duration(nanoseconds: Double(nanoseconds))
        }
    }
}
