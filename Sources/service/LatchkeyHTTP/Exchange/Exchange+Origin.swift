public import CLatchkeyHTTP

extension Exchange {
    /// The pages that may read the answer in a browser.
    enum Sharing {
        /// Not the page that asks, but pages of other origins may.
        case otherOrigins
        /// The page that asks.
        case origin
    }

    /// Notes which pages may read the answer; ``ResponseFields/addSharing()`` adds the header
    /// fields.
    ///
    /// Only on the server's thread, before the handler has returned.
    func share(with sharing: Sharing) {
        let value =
            switch sharing {
            case .otherOrigins: LATCHKEY_HTTP_SHARED_BY_ORIGIN
            case .origin: LATCHKEY_HTTP_SHARED_WITH_ORIGIN
            }
        unsafe latchkey_http_request_share(request, value)
    }

    /// Whether the page that asks may read the answer.
    package var isShared: Bool {
        unsafe request.pointee.sharing == LATCHKEY_HTTP_SHARED_WITH_ORIGIN
    }
}

extension Exchange {
    /// Whether the page that asks came over TLS, as its browser says.
    package var isOfSecurePage: Bool {
        let scheme = Bytes("https://")
        guard let origin = header(named: .origin) else { return false }
        return origin.count > scheme.count && origin.range(0, scheme.count) == scheme
    }
}

extension ResponseFields {
    /// The header fields of answers that a page of another origin can read besides those that every
    /// page can (Fetch standard, section 3.2.3).
    private static var exposed: StaticString {
        """
        ETag, Location, Retry-After, Allow, Server-Timing, Idempotency-Replayed, \
        Latchkey-Revision, Latchkey-Created, Latchkey-TTL, Latchkey-Request-Id
        """
    }

    /// Adds the fields that say which pages may read the answer (Fetch standard, section 3.2).
    ///
    /// After all other fields, so that the fields of a kept answer have none of them.
    @inlinable
    @inline(__always)
    mutating func addSharing() {
        if (unsafe request.pointee.sharing) != LATCHKEY_HTTP_SHARED_WITH_NONE {
            addOrigin()
        }
    }

    @usableFromInline
    mutating func addOrigin() {
        add("Vary", "Origin")
        let exchange = unsafe Exchange(request)
        guard exchange.isShared, let origin = exchange.header(named: .origin) else { return }
        add("Access-Control-Allow-Origin", text: String(decoding: origin, as: UTF8.self))
        add("Access-Control-Expose-Headers", Self.exposed)
    }
}
