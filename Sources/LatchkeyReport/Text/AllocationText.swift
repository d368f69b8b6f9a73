internal import LatchkeyComparison

/// How often an operation of a workload of one's own allocates, in a sentence.
enum AllocationText {
    /// Strategies with the same number stand together; nothing if none was counted.
    static func sentence(_ entries: [ComparisonReport.Case], in order: [String]) -> String {
        var names: [(figure: String, strategies: [String])] = []
        for strategy in order {
            let own = entries.lazy.filter { $0.strategy == strategy }
            guard let count = own.compactMap(\.allocationsPerOperation).first else { continue }
            let figure = FigureText.fixed(count, 2)
            if let place = names.firstIndex(where: { $0.figure == figure }) {
                names[place].strategies.append(strategy)
            } else {
                names.append((figure, [strategy]))
            }
        }
        guard !names.isEmpty else { return "" }
        return "Allocations per operation: "
            + names.map { "\($0.figure) with \(FigureText.names($0.strategies))" }
            .joined(separator: "; ") + "."
    }
}
