internal import LatchkeyComparison
internal import LatchkeyVerdict

/// Workloads in words.
enum WorkloadText {
    typealias Workload = ComparisonReport.Workload

    /// `50 % reads, section 50 ns, outside 200 ns`, and everything else that is not the default.
    static func description(_ workload: Workload) -> String {
        workload.dimensions.compactMap(\.phrase).joined(separator: ", ")
    }

    /// `on 4 threads`, or over HTTP `over 4 connections`.
    static func threads(_ count: Int, _ workload: Workload, from range: String = "") -> String {
        (workload.transport == nil ? "on " : "over ") + range + countedThreads(count, workload)
    }

    /// `4 threads`, or over HTTP `4 connections`.
    static func countedThreads(_ count: Int, _ workload: Workload) -> String {
        FigureText.counted(count, threadNoun(workload))
    }

    /// Where one strategy overtakes another, in a sentence.
    static func crossing(_ crossing: ComparisonReport.Crossover, namesWorkload: Bool) -> String {
        let (from, to) = (crossing.from, crossing.to)
        let place: String
        var dimensions = crossing.workload.dimensions
        switch crossing.axis {
        case .threads:
            place =
                "\(FigureText.fixed(from, 0)) and \(FigureText.fixed(to, 0)) "
                + "\(threadNoun(crossing.workload))s"
        case .readRatio:
            dimensions.removeAll { $0.name == Workload.readRatioName }
            place =
                "\(FigureText.percent(from)) and \(FigureText.percent(to)) reads"
                + (crossing.threads.map { " " + threads($0, crossing.workload) } ?? "")
        }
        let phrases = dimensions.compactMap(\.phrase).joined(separator: ", ")
        let workload = namesWorkload ? " (\(phrases))" : ""
        return "Between \(place) `\(crossing.fasterAbove)` overtakes "
            + "`\(crossing.fasterBelow)`\(workload)."
    }

    static func threadNoun(_ workload: Workload) -> String {
        workload.transport == nil ? "thread" : "connection"
    }
}

extension ComparisonReport.Crossover {
    /// Whether one of the strategies is among these.
    func touches(_ strategies: [String]) -> Bool {
        strategies.contains(fasterBelow) || strategies.contains(fasterAbove)
    }
}

extension ComparisonReport.Workload {
    /// One of the ways in which workloads differ.
    struct Dimension {
        var name: String
        /// The value as the command line spells it.
        var value: String
        /// The value in words; `nil` for a default that is not shown.
        var phrase: String?
        /// The words after "with", if they are not `phrase`.
        var noun: String?

        var clause: String { noun ?? phrase ?? "\(name) \(value)" }
    }

    static let readRatioName = "read ratio"

    /// The same dimensions in the same order for every workload.
    var dimensions: [Dimension] {
        func time(_ nanoseconds: Int) -> String {
            FigureText.duration(nanoseconds: Double(nanoseconds))
        }
        let reads =
            switch readRatio {
            case 0: "writes only"
            case 1: "reads only"
            case _: FigureText.percent(readRatio) + " reads"
            }
        let isHTTP = transport != nil
        let work = time(outside.nanoseconds) + (outside.scalesWithThreads ? " × threads" : "")
        var zipf: String?
        if case .zipf(let exponent) = skew { zipf = "Zipf \(shortText(exponent))" }
        var arrivals: String?
        if let rate = arrival.operationsPerSecond {
            arrivals = "\(FigureText.count(rate)) \(FigureText.plural("arrival", rate)) per second"
        }
        return [
            Dimension(name: "workload", value: name ?? "", phrase: name.map { "'\($0)'" }),
            Dimension(name: Self.readRatioName, value: shortText(readRatio), phrase: reads),
            Dimension(
                name: "section",
                value: "\(sectionNanoseconds)",
                phrase: isHTTP || name != nil ? nil : "section \(time(sectionNanoseconds))",
                noun: "a section of \(time(sectionNanoseconds))"
            ),
            Dimension(
                name: "outside",
                value: outside.rawValue,
                phrase: isHTTP ? nil : "outside \(work)",
                noun: "\(work) outside"
            ),
            Dimension(
                name: "keys",
                value: "\(keys)",
                phrase: keys == 1 ? nil : "\(keys) keys",
                noun: FigureText.counted(keys, "key")
            ),
            Dimension(
                name: "skew",
                value: skew.rawValue,
                phrase: zipf,
                noun: zipf ?? "uniform keys"
            ),
            Dimension(
                name: "stripes",
                value: "\(stripes)",
                phrase: stripes == 1 ? nil : "\(stripes) stripes",
                noun: FigureText.counted(stripes, "stripe")
            ),
            Dimension(
                name: "arrival",
                value: arrival.rawValue,
                phrase: arrivals,
                noun: arrivals ?? "a closed loop"
            ),
        ]
    }
}
