public import CLatchkeyHTTP

/// The name of a header field of a request.
///
/// The names below are recognised once for each request. Asking for one that is not there costs a
/// look at one bit; any other name, given as a literal, is searched for.
@usableFromInline
package struct FieldName: Sendable {
    /// In lower case.
    @usableFromInline let text: StaticString
    /// Among the known fields; 0 if it is not one of them.
    @usableFromInline let bit: UInt32

    @inlinable
    init(_ text: StaticString, _ known: latchkey_http_known = LATCHKEY_HTTP_KNOWN_NONE) {
        self.text = text
        bit = known.rawValue
    }

    @inlinable package static var authorization: FieldName {
        FieldName("authorization", LATCHKEY_HTTP_KNOWN_AUTHORIZATION)
    }
    @inlinable package static var cookie: FieldName {
        FieldName("cookie", LATCHKEY_HTTP_KNOWN_COOKIE)
    }
    @inlinable package static var contentEncoding: FieldName {
        FieldName("content-encoding", LATCHKEY_HTTP_KNOWN_CONTENT_ENCODING)
    }
    @inlinable package static var contentRange: FieldName {
        FieldName("content-range", LATCHKEY_HTTP_KNOWN_CONTENT_RANGE)
    }
    @inlinable package static var contentType: FieldName {
        FieldName("content-type", LATCHKEY_HTTP_KNOWN_CONTENT_TYPE)
    }
    @inlinable package static var fetchSite: FieldName {
        FieldName("sec-fetch-site", LATCHKEY_HTTP_KNOWN_SEC_FETCH_SITE)
    }
    @inlinable package static var idempotencyKey: FieldName {
        FieldName("idempotency-key", LATCHKEY_HTTP_KNOWN_IDEMPOTENCY_KEY)
    }
    @inlinable package static var ifMatch: FieldName {
        FieldName("if-match", LATCHKEY_HTTP_KNOWN_IF_MATCH)
    }
    @inlinable package static var ifNoneMatch: FieldName {
        FieldName("if-none-match", LATCHKEY_HTTP_KNOWN_IF_NONE_MATCH)
    }
    @inlinable package static var origin: FieldName {
        FieldName("origin", LATCHKEY_HTTP_KNOWN_ORIGIN)
    }
}

extension FieldName: ExpressibleByStringLiteral {
    /// A name that is not one of the known fields, in lower case.
    @inlinable
    package init(stringLiteral text: StaticString) {
        self.init(text)
    }
}
