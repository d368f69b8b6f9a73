package import LatchkeyStrategies

extension ComparisonReport {
    /// The promises of a program's own strategy.
    ///
    /// The recommendation prefers some promises to others. Ours are known by name.
    package struct OwnStrategy: Codable, Sendable, Equatable {
        /// The promises that a recommendation looks at.
        package enum Trait: String, Codable, Sendable, CaseIterable {
            case reentrant
            case concurrentReaders
            case readsDuringWrites
            case asynchronousWrites
            case fairHandOff
            case spins
            case keepsPolling
            case comesWithPlatform

            fileprivate var path: WritableKeyPath<StrategyTraits, Bool> {
                switch self {
                case .reentrant: \.isReentrant
                case .concurrentReaders: \.allowsConcurrentReaders
                case .readsDuringWrites: \.readsDuringWrites
                case .asynchronousWrites: \.appliesWritesAsynchronously
                case .fairHandOff: \.handsOffFairly
                case .spins: \.spins
                case .keepsPolling: \.keepsPolling
                case .comesWithPlatform: \.comesWithPlatform
                }
            }
        }

        package var strategy: String
        package var traits: [Trait]

        package init(_ strategy: String, _ traits: StrategyTraits) {
            self.strategy = strategy
            self.traits = Trait.allCases.filter { traits[keyPath: $0.path] }
        }
    }

    /// The promises of a strategy of this report.
    package func traits(of strategy: String) -> StrategyTraits {
        if let kind = StrategyKind(rawValue: strategy) { return kind.traits }
        var traits = StrategyTraits.unknown
        let own = ownStrategies?.first { $0.strategy == strategy }
        for trait in own?.traits ?? [] { traits[keyPath: trait.path] = true }
        if cases.contains(where: { $0.strategy == strategy && $0.isAsynchronous == true }) {
            traits.appliesWritesAsynchronously = true
        }
        return traits
    }
}
