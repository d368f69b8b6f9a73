extension PropertyName {
    /// The name that a JSON string is.
    ///
    /// It borrows the string's bytes if the string has no escapes, and copies them otherwise.
    package init(_ string: JSONView) throws(InvalidName) {
        if let plain = unsafe string.plainString {
            try unsafe self.init(borrowing: plain)
        } else {
            let owner = OwnedBytes(string.unescaped() ?? [])
            try unsafe self.init(borrowing: owner.bytes, owner: owner)
        }
    }
}
