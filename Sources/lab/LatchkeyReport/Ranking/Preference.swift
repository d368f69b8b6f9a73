internal import LatchkeyComparison
package import LatchkeyStrategies

/// The order in which strategies are preferred that are equally good.
///
/// By their traits, never by their figures, so that noise does not change it:
/// 1. what comes with the platform before what is ours, or a program's own;
/// 2. what blocks before what spins for a while and then blocks, and that before what only polls;
/// 3. what is plain before what copies the value or applies writes later;
/// 4. what promises less: each promise more is one that somebody can come to rely on;
/// 5. the order of `latchkey strategies`, and of the command line.
package struct Preference {
    private let ranks: [String: [Int]]

    init(_ report: ComparisonReport) {
        let ours = StrategyKind.allCases.map(\.rawValue)
        let names = report.cases.map(\.strategy).uniqued()
        let order = (ours + report.settings.strategies.map(\.rawValue) + names).uniqued()
        ranks = Dictionary(
            uniqueKeysWithValues: names.map { name in
                let place = order.firstIndex(of: name) ?? order.count
                return (name, Self.rank(report.traits(of: name), place))
            }
        )
    }

    private static func rank(_ traits: StrategyTraits, _ place: Int) -> [Int] {
        let promises = [
            traits.isReentrant, traits.allowsConcurrentReaders, traits.handsOffFairly,
        ]
        return [
            traits.comesWithPlatform ? 0 : 1,
            traits.keepsPolling ? 2 : traits.spins ? 1 : 0,
            traits.copiesOnWrite || traits.appliesWritesAsynchronously ? 1 : 0,
            promises.count { $0 },
            place,
        ]
    }

    /// The most preferred first.
    func sorted(_ names: [String]) -> [String] {
        names.sorted { (ranks[$0] ?? []).lexicographicallyPrecedes(ranks[$1] ?? []) }
    }
}

extension StrategyTraits {
    /// Readers keep the value from before a write, so that the write makes another one.
    package var copiesOnWrite: Bool { readsDuringWrites }
}
