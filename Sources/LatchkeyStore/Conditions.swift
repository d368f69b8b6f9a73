/// The preconditions of a request, in terms of the store: RFC 9110 sections 13.1.1 and 13.1.2
/// with revisions for entity tags.
@usableFromInline
package struct Conditions: Sendable, Hashable {
    /// What a condition compares the current revision with.
    package enum Tags: Sendable, Hashable {
        /// `*`: any current representation.
        case any
        /// One of these. A tag that cannot be a revision is left out, since it matches nothing.
        case oneOf([Revision])
    }

    package var ifMatch: Tags?
    package var ifNoneMatch: Tags?

    package static let none = Conditions()

    package init(ifMatch: Tags? = nil, ifNoneMatch: Tags? = nil) {
        self.ifMatch = ifMatch
        self.ifNoneMatch = ifNoneMatch
    }

    /// Whether a method that changes the property may go ahead, where the property has this
    /// revision, or none if there is no property.
    func allow(_ revision: Revision?) -> Bool {
        if let ifMatch, !ifMatch.match(revision) {
            return false
        }
        if let ifNoneMatch, ifNoneMatch.match(revision) {
            return false
        }
        return true
    }
}

extension Conditions.Tags {
    package func match(_ revision: Revision?) -> Bool {
        guard let revision else {
            return false
        }
        return switch self {
        case .any: true
        case .oneOf(let revisions): revisions.contains(revision)
        }
    }
}
