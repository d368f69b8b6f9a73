/// The origins whose pages may use the service besides its own, and the rules for all other pages.
///
/// A browser says in `Sec-Fetch-Site` how the page that has it send a request is related to the
/// service, and in `Origin` which page that is, unless the request is a plain read. No page can
/// change either. Other clients send neither.
///
/// | Sec-Fetch-Site | Origin | The request is served |
/// |---|---|---|
/// | any | an allowed one | yes, and its page may read the answer |
/// | `same-origin` | any | yes: a proxy may have changed `Host` |
/// | `none`, or missing | missing, or that of the service | yes: a person, or no browser |
/// | `none`, or missing | any other | no |
/// | `same-site`, `cross-site` | any other | no, but for a visit of the page at `/` |
///
/// `same-site` is not enough: `http://localhost:3000` is of the same site as any other port.
package struct AllowedOrigins: Sendable {
    /// An origin goes into the head of an answer, whose length is limited.
    private static let byteCountMax = 270

    /// As browsers write them: scheme, host and, if it is not that of the scheme, port.
    private let origins: [[UInt8]]

    package init(_ origins: [String] = []) {
        self.origins = origins.map { Array($0.utf8) }
    }

    /// Whether the text is an origin as a browser writes it, such as `https://app.example:8443`.
    package static func isOrigin(_ text: String) -> Bool {
        guard text.utf8.count <= byteCountMax, let separator = text.firstRange(of: "://") else {
            return false
        }
        let authority = text[separator.upperBound...]
        let scheme = text[..<separator.lowerBound]
        return !scheme.isEmpty && scheme.utf8.allSatisfy(isSchemeByte)
            && !authority.isEmpty && authority.utf8.allSatisfy(isAuthorityByte)
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            || "+-.".utf8.contains(byte)
    }

    private static func isAuthorityByte(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            || "-._:[]".utf8.contains(byte)
    }

    /// Whether a request is served; notes in it which pages may read the answer.
    @inline(__always)
    func admit(_ exchange: Exchange) -> Bool {
        guard !origins.isEmpty || exchange.isOfBrowser else { return true }
        return admitsPage(exchange)
    }

    /// Notes in a request which pages may read its answer.
    ///
    /// - Parameter exchange: The request.
    /// - Returns: Whether a page of an allowed origin may.
    @discardableResult
    func noteSharing(of exchange: Exchange) -> Bool {
        guard !origins.isEmpty else { return false }
        let origin = exchange.header(named: .origin)
        let isAllowed =
            (origin.map { origin in origins.contains { origin.elementsEqual($0) } } ?? false)
            && !exchange.repeatsHeader(named: .origin)
        exchange.share(with: isAllowed ? .origin : .otherOrigins)
        return isAllowed
    }

    private func admitsPage(_ exchange: Exchange) -> Bool {
        guard !noteSharing(of: exchange) else { return true }
        let origin = exchange.header(named: .origin)
        switch exchange.header(named: .fetchSite) {
        case Bytes("same-origin"): return true
        case nil, Bytes("none"): return origin.map { exchange.isOwn($0) } ?? true
        default: return exchange.isVisit
        }
    }
}

extension Exchange {
    /// Whether a browser has sent the request for a page, or a person with a browser.
    package var isOfBrowser: Bool {
        hasHeader(named: .origin) || hasHeader(named: .fetchSite)
    }

    /// Whether a person follows a link to the page at `/`, in a window of its own.
    fileprivate var isVisit: Bool {
        (method == .get || method == .head) && path == Bytes("/")
            && header(named: "sec-fetch-mode") == Bytes("navigate")
            && header(named: "sec-fetch-dest") == Bytes("document")
    }

    /// Whether the origin is a scheme and ``authority``; `null` is not.
    fileprivate func isOwn(_ origin: Bytes) -> Bool {
        guard let authority else { return false }
        let start = origin.count - authority.count
        guard start >= 0 else { return false }
        let scheme = origin.range(0, start)
        return (scheme == Bytes("http://") || scheme == Bytes("https://"))
            && origin.range(start, origin.count).equalsIgnoringCase(authority)
    }
}
