internal import Foundation
internal import LatchkeyStore

/// The rights of one token; rights to properties can be limited to prefixes of names.
///
/// Written as words: `read,write:app/ read:shared/ operations`. A prefix is percent-encoded as in a
/// path. Without one, a right holds for all names.
package struct Grants: Hashable, Sendable {
    /// Sorted, none of which begins with another one.
    package private(set) var readPrefixes: [[UInt8]] = []
    package private(set) var writePrefixes: [[UInt8]] = []
    /// The bits of the other rights.
    package private(set) var rightBits: UInt16 = 0

    package init() {}

    /// Reads the words.
    package init(_ words: some Sequence<String>) throws(InvalidGrant) {
        for word in words {
            try add(word)
        }
        readPrefixes = Self.shortest(readPrefixes)
        writePrefixes = Self.shortest(writePrefixes)
    }

    private mutating func add(_ word: String) throws(InvalidGrant) {
        let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let prefix = parts.count == 2 ? try Self.prefix(parts[1]) : nil
        for name in parts[0].split(separator: ",", omittingEmptySubsequences: false) {
            guard let right = Right(rawValue: String(name)) else {
                throw .unknownRight(String(name))
            }
            switch right {
            case .read: readPrefixes.append(prefix ?? [])
            case .write: writePrefixes.append(prefix ?? [])
            default:
                guard prefix == nil else { throw .takesNoPrefix(right) }
                rightBits |= right.bit
            }
        }
    }

    private static func prefix(_ text: Substring) throws(InvalidGrant) -> [UInt8] {
        // Not an empty one: an empty variable of a script would grant all names.
        guard !text.contains(","), let prefix = PropertyName.prefix(percentEncoded: text) else {
            throw .invalidPrefix
        }
        return prefix
    }

    /// The prefixes without those that begin with another one.
    private static func shortest(_ prefixes: [[UInt8]]) -> [[UInt8]] {
        var kept: [[UInt8]] = []
        for prefix in prefixes.sorted(by: { $0.lexicographicallyPrecedes($1) })
        where !(kept.last.map { prefix.starts(with: $0) } ?? false) {
            kept.append(prefix)
        }
        return kept
    }
}

/// The fault in a grant.
package enum InvalidGrant: Error, Hashable, Sendable {
    case unknownRight(String)
    case takesNoPrefix(Right)
    case invalidPrefix

    /// A sentence about it.
    package var message: String {
        switch self {
        case .unknownRight(let name):
            let names = Right.allCases.map(\.rawValue).joined(separator: ", ")
            return "'\(name)' is no right. The rights are \(names)."
        case .takesNoPrefix(let right):
            return "The right \(right.rawValue) takes no prefix."
        case .invalidPrefix:
            return "A prefix is percent-encoded UTF-8 of 1 to \(PropertyName.byteCountMax) bytes, "
                + "without control characters; a comma in it is %2C."
        }
    }
}
