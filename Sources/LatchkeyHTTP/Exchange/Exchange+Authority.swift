import CLatchkeyHTTP

extension Exchange {
    /// Host and port that the request is for, as they were sent: those of an absolute target, or
    /// else the Host field's (RFC 9112, section 3.2.2); nil if there is neither.
    ///
    /// Not for requests that were rejected as malformed.
    package var authority: Bytes? {
        let method = methodBytes
        guard let start = unsafe method.base else { return nil }
        // SAFETY: the C side keeps the head in one piece, and has checked that the target begins
        // one byte after the method and ends before a NUL or a space, without either in it. No
        // pointer goes further than that.
        let target = unsafe start + method.count + 1
        guard unsafe path.base != target else { return header(named: "host") }
        // `http://` or `https://`, in whatever case: no other target has a path of its own.
        let isSecure = unsafe target[4] | 0x20 == UInt8(ascii: "s")
        let authority = unsafe target + (isSecure ? 8 : 7)
        var count = 0
        while case let byte = unsafe authority[count], byte > UInt8(ascii: " "),
            byte != UInt8(ascii: "/"), byte != UInt8(ascii: "?")
        {
            count += 1
        }
        return unsafe Bytes(authority, count: count)
    }
}
