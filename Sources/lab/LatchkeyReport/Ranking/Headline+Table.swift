internal import LatchkeyComparison

// What else the table says: who is near, and where another strategy is to be used.

extension Headline {
    /// Those within 10 % of the strategy that is named that could replace it, in the table's order.
    ///
    /// That is of the figures in the table. The truth can be farther away.
    var asGood: [String] {
        guard let strategy else { return [] }
        return ranking.overall.map(\.strategy).filter { name in
            guard name != strategy, let ratio = ratio(name, to: strategy)?.value else {
                return false
            }
            return max(ratio, 1 / ratio) < Self.gainMin - Self.rounding
                && obstacle(name) == nil && !collapsing.contains(name)
                && !ranking.situations.contains { isFarAhead(strategy, of: name, in: $0) }
        }
    }

    private func isFarAhead(
        _ one: String,
        of other: String,
        in situation: Ranking.Situation
    ) -> Bool {
        ratio(one, to: other, in: [situation]).map(isFarAhead) ?? false
    }

    /// Where another strategy is to be used than the one that is named, in the report's order.
    var flips: [Flip] {
        guard let strategy, ranking.situations.count > 1 else { return [] }
        let workloads = ranking.situations.map(\.workload).uniqued()
        return workloads.flatMap { workload in
            let situations = ranking.situations.filter { $0.workload == workload }
                .sorted { $0.threads < $1.threads }
            var found: [Flip] = []
            var isOpen = false
            for situation in situations {
                let decision = self.decision(strategy, in: [situation])
                guard decision != .stays else {
                    isOpen = false
                    continue
                }
                var other: String?
                if case .use(let name) = decision { other = name }
                if isOpen, found.last?.strategy == other {
                    found[found.count - 1].situations.append(situation)
                } else {
                    found.append(Flip(situations: [situation], strategy: other, gain: 1))
                }
                isOpen = true
            }
            return found.map { flip in
                var flip = flip
                flip.gain =
                    flip.strategy.flatMap { ratio($0, to: strategy, in: flip.situations) }?.value
                    ?? 1
                return flip
            }
        }
    }

    /// Whether in some case a strategy is better than the one that is named, whatever bars it.
    var isBeatenSomewhere: Bool {
        guard let strategy else { return false }
        return ranking.overall.map(\.strategy).contains { name in
            name != strategy
                && ranking.situations.contains {
                    ratio(name, to: strategy, in: [$0]).map(isBetter) ?? false
                }
        }
    }

    func copies(_ strategy: String) -> Bool { copying.contains(strategy) }

    /// The name of what is to be used somewhere, and that its writers copy.
    func told(_ strategy: String) -> String {
        "`\(strategy)`" + (copies(strategy) ? " (writers copy)" : "")
    }
}
