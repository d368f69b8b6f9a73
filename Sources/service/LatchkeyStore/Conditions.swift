/// The preconditions of a request, in terms of the store: RFC 9110 sections 13.1.1 and 13.1.2
/// with revisions for entity tags.
package struct Conditions: Sendable, Hashable {
    /// The tags that a condition compares with the current revision.
    package enum Tags: Sendable, Hashable {
        /// `*`: any current representation.
        case any
        /// One of these. A tag that cannot be a revision is left out, since it matches nothing.
        case oneOf([Revision])
    }

    /// The result of the conditions for a property.
    package enum Verdict: Sendable, Hashable {
        case pass
        /// `If-Match` does not hold: no method goes ahead.
        case noMatch
        /// `If-None-Match` does not hold: a read has nothing new, and a write must not go ahead.
        case match
    }

    package var ifMatch: Tags?
    package var ifNoneMatch: Tags?

    package static let none = Conditions()

    package init(ifMatch: Tags? = nil, ifNoneMatch: Tags? = nil) {
        self.ifMatch = ifMatch
        self.ifNoneMatch = ifNoneMatch
    }

    /// The verdict for a property with this revision; nil is for a property that does not exist.
    ///
    /// The order is that of RFC 9110, section 13.2.2. A method that changes the property goes ahead
    /// only if they pass.
    package func verdict(_ revision: Revision?) -> Verdict {
        if let ifMatch, !ifMatch.match(revision) {
            return .noMatch
        }
        if let ifNoneMatch, ifNoneMatch.match(revision) {
            return .match
        }
        return .pass
    }
}

extension Conditions.Tags {
    fileprivate func match(_ revision: Revision?) -> Bool {
        guard let revision else {
            return false
        }
        return switch self {
        case .any: true
        case .oneOf(let revisions): revisions.contains(revision)
        }
    }
}
