/// What was measured, as far as a verdict needs it: strategies, cases, and figures for each pair.
///
/// It knows neither where the figures come from nor what a strategy is: a comparison fills it, and
/// trials of a service can.
package struct VerdictTable: Sendable {
    /// What stays the same while strategies are compared.
    package struct Place: Hashable, Sendable {
        package var threads: Int
        /// Cases of one workload differ in their threads only.
        package var workload: Int
        /// How the workload differs from the others of the run: `with 95 % reads`, or nothing.
        package var condition: String
        /// `thread`, or over HTTP `connection`.
        package var unit: String

        package init(threads: Int, workload: Int, condition: String = "", unit: String = "thread") {
            (self.threads, self.workload) = (threads, workload)
            (self.condition, self.unit) = (condition, unit)
        }
    }

    package struct Strategy: Sendable {
        package var name: String
        package var preference: Preference
        /// Why it cannot be ranked, as a clause without its subject.
        package var exclusion: String?

        package init(_ name: String, _ preference: Preference, exclusion: String? = nil) {
            (self.name, self.preference, self.exclusion) = (name, preference, exclusion)
        }
    }

    /// What one strategy did in one case.
    package struct Figures: Sendable {
        /// As the table shows it, so that more is better.
        package var speed: Double
        /// By the index of the repeat; those with one index were taken next to each other.
        package var repeats: [Int: Double]
        /// The slices of the rounds after each repeat; nil for one that does not count.
        ///
        /// What has the same place in two strategies was taken within a fraction of a second.
        package var rounds: [Int: [Double?]]
        package var limits: Limits

        package init(
            speed: Double,
            repeats: [Int: Double],
            rounds: [Int: [Double?]] = [:],
            limits: Limits = Limits()
        ) {
            (self.speed, self.repeats) = (speed, repeats)
            (self.rounds, self.limits) = (rounds, limits)
        }
    }

    package var figure: RankedFigure
    package var places: [Place]
    package var strategies: [Strategy]
    /// The figures of a strategy by its name, one for each place.
    package var figures: [String: [Figures?]]
    /// The share of reads in each place.
    package var readRatios: [Double]

    package init(
        figure: RankedFigure = .throughput,
        places: [Place],
        readRatios: [Double],
        strategies: [Strategy],
        figures: [String: [Figures?]]
    ) {
        (self.figure, self.places, self.readRatios) = (figure, places, readRatios)
        (self.strategies, self.figures) = (strategies, figures)
    }

    /// The places of each workload by number of threads.
    var sweeps: [[Int]] {
        var workloads: [Int] = []
        for place in places where !workloads.contains(place.workload) {
            workloads.append(place.workload)
        }
        return workloads.map { workload in
            places.indices.filter { places[$0].workload == workload }
                .sorted { places[$0].threads < places[$1].threads }
        }
    }
}

/// The figure by which strategies are ranked.
///
/// In a closed loop that is throughput. In an open loop operations begin at a given rate, so that
/// all strategies that keep up complete as many: there it is the p99 of the response, counted from
/// when an operation was due.
package enum RankedFigure: Sendable {
    case throughput
    case responseP99

    /// From here on a shorter response is told as a factor: its share would be 99 or 100 %.
    private static let shareMax = 100.0

    /// By how much more a strategy does that is this many times as fast: `28 % more`, `2.10 times
    /// as many`.
    package func gain(_ ratio: Double) -> String {
        switch self {
        case .throughput: amount(ratio) + (ratio < 2 ? " more" : " as many")
        case .responseP99: amount(ratio) + " shorter p99 response"
        }
    }

    /// The same with the other strategy: `28 % more than `lock``.
    package func gain(_ ratio: Double, over name: String) -> String {
        let isFactor = self == .throughput && ratio >= 2
        return gain(ratio) + (isFactor ? " as" : " than") + " `\(name)`"
    }

    /// The number of ``gain(_:)``: `28 %`, `2.10 times`.
    package func amount(_ ratio: Double) -> String {
        switch self {
        case .throughput where ratio < 2: FigureText.percent(ratio - 1)
        case .responseP99 where ratio < Self.shareMax: FigureText.percent(1 - 1 / ratio)
        default: FigureText.count(ratio) + " times"
        }
    }

    /// By how much slower a strategy is that another is this many times as fast as.
    package func loss(_ ratio: Double, than name: String) -> String {
        (ratio < 2
            ? FigureText.percent(1 - 1 / ratio) + " slower"
            : FigureText.count(ratio) + " times slower") + " than `\(name)`"
    }
}
