/// The preconditions of a request, in terms of the store: RFC 9110 sections 13.1.1 and 13.1.2
/// with revisions for entity tags.
package struct Conditions: Sendable, Hashable {
    /// What a condition compares the current revision with.
    package enum Tags: Sendable, Hashable {
        /// `*`: any current representation.
        case any
        /// One of these. A tag that cannot be a revision is left out, since it matches nothing.
        case oneOf([Revision])
    }

    /// What the conditions say of a property.
    package enum Verdict: Sendable, Hashable {
        case pass
        /// `If-Match` does not hold: no method goes ahead.
        case noMatch
        /// `If-None-Match` does not hold: the client has what it would read, and must not write.
        case match
    }

    package var ifMatch: Tags?
    package var ifNoneMatch: Tags?

    package static let none = Conditions()

    package init(ifMatch: Tags? = nil, ifNoneMatch: Tags? = nil) {
        self.ifMatch = ifMatch
        self.ifNoneMatch = ifNoneMatch
    }

    /// What the conditions say where the property has this revision, or none if there is no
    /// property.
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
