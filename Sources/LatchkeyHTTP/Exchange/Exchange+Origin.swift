extension Exchange {
    /// Whether a page of another origin has a browser send this request, which may change
    /// something.
    ///
    /// Browsers name the origin of the page in every request but GET and HEAD (Fetch standard,
    /// section 3.2), and no page can change it, or `Sec-Fetch-Site`. The latter decides where a
    /// proxy has changed `Host`. Other clients send no `Origin`.
    var isCrossSite: Bool {
        switch method {
        case .get, .head, .options: return false
        case .put, .post, .patch, .delete, .other: break
        }
        guard let origin = header(named: "origin") else { return false }
        return !isOwn(origin) && header(named: "sec-fetch-site") != Bytes("same-origin")
    }

    /// Whether the origin is ``authority`` behind a scheme; `null` is not.
    private func isOwn(_ origin: Bytes) -> Bool {
        guard let authority else { return false }
        let start = origin.count - authority.count
        guard start >= 0 else { return false }
        let scheme = origin.range(0, start)
        return (scheme == Bytes("http://") || scheme == Bytes("https://"))
            && origin.range(start, origin.count).equalsIgnoringCase(authority)
    }
}
