/// A commit as it is read from a file: with the properties after it, but not those before it.
package struct StoredCommit: Sendable {
    package let revision: Revision
    package let time: Timestamp
    /// The name of its author, if it is known.
    package let author: [UInt8]?
    /// Each name once.
    package let effects: [StoredEffect]

    package init(
        revision: Revision,
        time: Timestamp,
        author: [UInt8]? = nil,
        effects: [StoredEffect]
    ) {
        self.author = author
        self.revision = revision
        self.time = time
        self.effects = effects
    }
}

/// The effect of a stored commit on one property.
package struct StoredEffect: Sendable {
    /// Owns its bytes.
    package let name: PropertyName
    /// Nil if the commit removed the property.
    package let property: Property?
    package let reason: Commit.Reason

    package init(name: PropertyName, property: Property?, reason: Commit.Reason) {
        self.name = name
        self.property = property
        self.reason = reason
    }
}
