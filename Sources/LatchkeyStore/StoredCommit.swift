/// A commit as it is read from a file: what it did, without what was there before.
package struct StoredCommit: Sendable {
    package let revision: Revision
    package let time: Timestamp
    package let effects: [StoredEffect]

    package init(revision: Revision, time: Timestamp, effects: [StoredEffect]) {
        self.revision = revision
        self.time = time
        self.effects = effects
    }
}

/// What a stored commit did to one property.
package struct StoredEffect: Sendable {
    /// The name, which keeps its bytes.
    package let name: PropertyName
    /// The property after the commit; nil if it was removed.
    package let property: Property?
    package let reason: Commit.Reason

    package init(name: PropertyName, property: Property?, reason: Commit.Reason) {
        self.name = name
        self.property = property
        self.reason = reason
    }
}

/// Why commits that were not released are taken back.
package enum Withdrawal: Sendable, Hashable {
    /// There is no space for them.
    case full
    /// They could not be written.
    case unavailable
    /// Nobody knows whether they are there after a restart.
    case unknown
}

extension Property {
    /// A property as it was stored.
    package init(
        name: PropertyName,
        value: UnsafeRawBufferPointer,
        revision: Revision,
        created: Revision,
        expiry: Timestamp
    ) {
        unsafe self.init(name: name, value: value)
        assign(revision: revision, created: created, expiry: expiry)
    }
}
