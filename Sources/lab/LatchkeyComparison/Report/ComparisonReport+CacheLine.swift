extension ComparisonReport {
    /// How long a cache line takes from one processor to another and back, in this run.
    package struct CacheLine: Codable, Sendable, Equatable {
        /// The geometric mean of the readings before and after each slice.
        package var averageNanoseconds: Double?
        /// Why there is no figure, in a sentence; left out if there is one.
        package var missingBecause: String?
    }
}

extension ComparisonReport.Rounds {
    /// Rounds after each repeat, which are more alike than those after another one.
    package static let perRepeat = 9

    /// The slices that are not left out.
    package var counted: [Double] { clusters.flatMap(\.self) }

    /// The same, those after one repeat together.
    package var clusters: [[Double]] {
        let slices = operationsPerSecond.enumerated().filter { counts($0.offset) }
        return Self.clusters(slices.map { ($0.offset, $0.element) })
    }

    package func counts(_ round: Int) -> Bool { leftOut?.contains(round) != true }

    /// Values with the numbers of their rounds, those after one repeat together.
    package static func clusters(_ values: [(round: Int, value: Double)]) -> [[Double]] {
        let grouped = Dictionary(grouping: values) { $0.round / perRepeat }
        return grouped.sorted { $0.key < $1.key }.map { $0.value.map(\.value) }
    }
}

extension ComparisonReport.Rounds {
    private enum CodingKeys: String, CodingKey {
        case operationsPerSecond, leftOut
        /// How far apart the processors were in each round: of 0.1, where a run had two modes.
        case processors
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        operationsPerSecond = try values.decode([Double].self, forKey: .operationsPerSecond)
        leftOut = try values.decodeIfPresent(Set<Int>.self, forKey: .leftOut)
        if let processors = try values.decodeIfPresent([String].self, forKey: .processors) {
            leftOut = Set(processors.indices.filter { processors[$0] == "changed" })
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(operationsPerSecond, forKey: .operationsPerSecond)
        try values.encodeIfPresent(leftOut?.sorted(), forKey: .leftOut)
    }
}

extension [ComparisonReport.Repeat] {
    /// The repeats that are not left out.
    package var counted: Self { filter { $0.isLeftOut != true } }
}

extension ComparisonReport.Case {
    /// The repeats that are not left out.
    package var counted: [ComparisonReport.Repeat] { repeats.counted }
}
