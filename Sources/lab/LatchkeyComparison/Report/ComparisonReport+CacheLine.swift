extension ComparisonReport {
    /// How long a cache line takes from one processor to another and back, in this run.
    package struct CacheLine: Codable, Sendable, Equatable {
        /// Between two processors, when the run began.
        package struct Pair: Codable, Sendable, Equatable {
            package var first: Int
            package var second: Int
            package var roundTripNanoseconds: Double
        }

        /// What the readings of the run have in common.
        package struct Mode: Codable, Sendable, Equatable {
            /// The median.
            package var roundTripNanoseconds: Double
            /// Of the readings.
            package var share: Double
        }

        /// All pairs of up to eight processors, and some of more.
        package var pairs: [Pair]
        /// The readings before and after each slice: one mode, or two, the nearer one first.
        ///
        /// Empty if there was no reading.
        package var modes: [Mode]
        /// The geometric mean of these readings.
        package var averageNanoseconds: Double?
        /// The readings in the order in which they were taken, thinned out: each is the median of
        /// neighbours.
        ///
        /// Left out if there was no reading.
        package var series: [Double]?
        /// Why there is no figure, in a sentence; left out if there is one.
        package var missingBecause: String?
    }

    /// How far apart the processors were during a repeat, where the run had two modes.
    package enum ProcessorDistance: String, Codable, Sendable, CaseIterable {
        case near
        case far
        /// The mode changed during the repeat.
        case changed
    }
}

extension ComparisonReport.CacheLine {
    /// The mode with more readings, where a run had two.
    package var usualDistance: ComparisonReport.ProcessorDistance? {
        guard modes.count > 1 else { return nil }
        return modes[1].share > modes[0].share ? .far : .near
    }
}

extension ComparisonReport.Rounds {
    /// Rounds after each repeat, which are more alike than those after another one.
    package static let perRepeat = 9

    /// The slices that count: those with this distance of the processors, or all but those in which
    /// it changed.
    package func counted(at distance: ComparisonReport.ProcessorDistance? = nil) -> [Double] {
        clusters(at: distance).flatMap(\.self)
    }

    /// The same, those after one repeat together.
    package func clusters(at distance: ComparisonReport.ProcessorDistance? = nil) -> [[Double]] {
        let slices = operationsPerSecond.enumerated().filter { index, _ in
            guard let processors else { return distance == nil }
            guard processors.indices.contains(index) else { return false }
            return distance == nil
                ? processors[index] != .changed : processors[index] == distance
        }
        return Self.clusters(slices.map { ($0.offset, $0.element) })
    }

    /// Values with the numbers of their rounds, those after one repeat together.
    package static func clusters(_ values: [(round: Int, value: Double)]) -> [[Double]] {
        let grouped = Dictionary(grouping: values) { $0.round / perRepeat }
        return grouped.sorted { $0.key < $1.key }.map { $0.value.map(\.value) }
    }
}

extension [ComparisonReport.Repeat] {
    /// The repeats that count: those with this distance of the processors, or all but those that
    /// are left out.
    package func counted(at distance: ComparisonReport.ProcessorDistance? = nil) -> Self {
        filter { $0.isLeftOut != true && (distance == nil || $0.processors == distance) }
    }
}

extension ComparisonReport.Case {
    /// The repeats that count.
    package var counted: [ComparisonReport.Repeat] { repeats.counted() }
}
