/// The measurements that a verdict needs: strategies, cases, and figures for each pair.
///
/// It knows neither where the figures come from nor what a strategy is: a comparison fills it, and
/// trials of a service can.
package struct VerdictTable: Sendable {
    /// The conditions that stay the same while strategies are compared.
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

    /// The figures of one strategy in one case.
    package struct Figures: Sendable {
        /// As the table shows it, so that more is better.
        package var speed: Double
        /// By the index of the repeat; those with the same index were taken next to each other.
        package var repeats: [Int: Double]
        /// The slices of the rounds after each repeat; nil for an invalid one.
        ///
        /// Slices at the same index in two strategies were taken within a fraction of a second.
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

    /// From this ratio on, a shorter response is given as a factor: its share would be 99 or 100 %.
    private static let shareMax = 100.0

    /// The gain of a strategy that is this many times as fast: `28 % more`, `2.10 times as many`.
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

    /// The loss of a strategy, if another one is this many times as fast.
    package func loss(_ ratio: Double, than name: String) -> String {
        (ratio < 2
            ? FigureText.percent(1 - 1 / ratio) + " slower"
            : FigureText.count(ratio) + " times slower") + " than `\(name)`"
    }
}
