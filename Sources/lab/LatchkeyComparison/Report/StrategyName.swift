package import LatchkeyStrategies

/// The name of a strategy: one of ours, or one that a program has registered.
///
/// In JSON and on the command line it is the bare text.
@usableFromInline
package struct StrategyName: RawRepresentable, Codable, Sendable, Hashable {
    @usableFromInline package let rawValue: String

    @usableFromInline
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package init(_ kind: StrategyKind) {
        self.init(rawValue: kind.rawValue)
    }

    // Names that code chooses.
    package static let actor = Self(.actor)
    package static let barrierQueueAsync = Self(.barrierQueueAsync)
    package static let lock = Self(.lock)
    package static let mutex = Self(.mutex)
    package static let serialQueueAsync = Self(.serialQueueAsync)
    package static let snapshot = Self(.snapshot)
    package static let spin = Self(.spin)

    /// Nil if the strategy is not one of ours.
    package var kind: StrategyKind? { StrategyKind(rawValue: rawValue) }
}
