internal import LatchkeyComparison

/// What an operation of a workload of one's own asks of the heap, in a sentence.
enum HeapText {
    /// Strategies with the same numbers stand together; nothing if none was counted.
    static func sentence(_ entries: [ComparisonReport.Case], in order: [String]) -> String {
        var names: [(figures: String, strategies: [String])] = []
        for strategy in order {
            let own = entries.lazy.filter { $0.strategy == strategy }
            guard let use = own.compactMap(\.heapPerOperation).first else { continue }
            let figures = text(use)
            if let place = names.firstIndex(where: { $0.figures == figures }) {
                names[place].strategies.append(strategy)
            } else {
                names.append((figures, [strategy]))
            }
        }
        guard !names.isEmpty else { return "" }
        return "An operation makes "
            + names.map { "\($0.figures) with \(FigureText.names($0.strategies))" }
            .joined(separator: "; ") + "."
    }

    private static func text(_ use: ComparisonReport.HeapUse) -> String {
        FigureText.fixed(use.allocations, 2) + " allocations"
            + (use.references.map { " and \(FigureText.fixed($0, 2)) retains and releases" } ?? "")
    }
}
