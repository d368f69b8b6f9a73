/// What the user of a ``CommitHook`` keeps with a commit.
package struct CommitNote: Sendable {
    /// The name of who made the change, if that is known.
    package var author: [UInt8]?
    /// What else is kept, if something is.
    package var bytes: [UInt8]?

    /// Nil if there is nothing to keep.
    package init?(author: [UInt8]?, bytes: [UInt8]?) {
        guard author != nil || bytes != nil else { return nil }
        self.author = author
        self.bytes = bytes
    }
}
