package import LatchkeyJSON

extension PropertyName {
    /// Reads a name from a JSON string.
    ///
    /// It borrows the string's bytes if the string has no escapes, and copies them otherwise. The
    /// owner keeps the string in place, if the caller does not.
    package init(_ string: JSONView, owner: AnyObject? = nil) throws(InvalidName) {
        if let plain = unsafe string.plainString {
            try unsafe self.init(borrowing: plain, owner: owner)
        } else {
            let owner = OwnedBytes(string.unescaped() ?? [])
            try unsafe self.init(borrowing: owner.bytes, owner: owner)
        }
    }
}
