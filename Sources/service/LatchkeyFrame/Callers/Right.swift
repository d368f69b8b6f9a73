/// A right that a token can have.
package enum Right: String, CaseIterable, Sendable {
    /// See properties: read, list, watch and long-poll them; conditions on them in transactions.
    case read
    /// Change properties.
    case write
    /// Submit operations, and see, cancel and follow one's own.
    case operations
    /// Have operations fetch from other hosts.
    case fetch
    /// Have operations compare strategies.
    case compare
    /// Export. The exported properties must be readable, too.
    case export
    /// Import. The imported properties must be writable, too.
    case `import`
    /// Reset figures, take profiles, switch the strategy, see all watches, see and cancel all
    /// operations, and make a replica a leader.
    case admin
    /// Take a backup of all data, also of the data that is kept beside the properties.
    case backup

    /// Whether the right is one to properties, whose names can be required to have a prefix.
    package var takesPrefix: Bool { self == .read || self == .write }

    package var bit: UInt16 { 1 << UInt16(Self.allCases.firstIndex(of: self) ?? 0) }
}
