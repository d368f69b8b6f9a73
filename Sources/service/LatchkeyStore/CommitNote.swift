/// The data that the user of a ``CommitHook`` keeps with a commit.
package struct CommitNote: Sendable {
    /// The name of the change's author, if it is known.
    package var author: [UInt8]?
    /// Other data to keep, if there is any.
    package var bytes: [UInt8]?

    /// Nil if there is nothing to keep.
    package init?(author: [UInt8]?, bytes: [UInt8]?) {
        guard author != nil || bytes != nil else { return nil }
        self.author = author
        self.bytes = bytes
    }
}
