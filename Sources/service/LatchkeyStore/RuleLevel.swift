/// The rules by which changes are decided.
///
/// A change of the program that changes what a change *means*, such as a limit of decisions, begins
/// a new level, and asks for it where it decides: `context.rules >= .second`. Replicas of one log
/// execute each entry by the same level, whatever version each has, so their states stay the same.
///
/// A store has one level at a time. Without a cluster that is ``current`` from the start. A replica
/// begins with the level of its place in the log, and raises it where the log says so.
package enum RuleLevel: UInt8, Sendable, CaseIterable, Comparable {
    /// The rules of 0.1.
    case first = 1
    case second = 2

    /// The latest one that this program knows.
    package static let current = Self.second

    /// The latest one that is known and has at most this number.
    package init(atMost number: UInt8) {
        self = Self.allCases.last { $0.rawValue <= number } ?? .first
    }

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}
