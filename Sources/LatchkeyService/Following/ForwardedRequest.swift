internal import LatchkeyClient
internal import LatchkeyHTTP

/// A request as a replica sends it on to its leader: the same target and body, and the header
/// fields that decide what it does.
struct ForwardedRequest {
    /// Says that a replica has sent it on.
    static let mark: FieldName = "latchkey-forwarded"

    /// Besides `Content-Type`.
    private static let fields: [(name: String, field: FieldName)] = [
        ("Authorization", .authorization), ("Content-Encoding", .contentEncoding),
        ("Content-Range", .contentRange), ("Idempotency-Key", .idempotencyKey),
        ("If-Match", .ifMatch), ("If-None-Match", .ifNoneMatch), ("traceparent", "traceparent"),
    ]

    let request: ClientRequest

    /// The exchange must not be answered yet.
    init(_ exchange: Exchange) {
        let text = String(decoding: exchange.methodBytes, as: UTF8.self)
        guard let method = ClientRequest.Method(rawValue: text) else {
            preconditionFailure("Routes that change state have these methods.")
        }
        let query = exchange.query.isEmpty ? "" : "?" + Self.encoded(exchange.query)
        var request = ClientRequest(method, Self.encoded(exchange.path) + query)
        if !exchange.body.isEmpty || method == .put || method == .patch {
            let type = exchange.headers(named: .contentType)
            request.send(
                .bytes(Array(exchange.body)),
                type: type.map { String(decoding: $0, as: UTF8.self) }
            )
        }
        for (name, field) in Self.fields {
            guard let value = exchange.headers(named: field) else { continue }
            request.add(field: name, String(decoding: value, as: UTF8.self))
        }
        // Whether a page may send it was decided here. What a browser sends is read more strictly.
        if exchange.isOfBrowser { request.add(field: "Sec-Fetch-Site", "same-origin") }
        request.add(field: "Latchkey-Forwarded", "1")
        self.request = request
    }

    /// The same target, with what libcurl would not take as a part of it percent-encoded.
    static func encoded(_ target: some Sequence<UInt8>) -> String {
        var encoded = ""
        for byte in target {
            let character = Unicode.Scalar(byte)
            if byte < 0x80, Self.allowed.contains(Character(character)) {
                encoded.unicodeScalars.append(character)
            } else {
                let hex = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(hex)" : "%\(hex)"
            }
        }
        return encoded
    }

    /// RFC 3986, section 3.3, and the bytes that separate the parts of a path and a query.
    private static let allowed = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?%"
    )
}

extension ServiceRequest {
    /// The header fields of a leader's answer that its client gets.
    private static let answerFields: [(name: String, field: StaticString)] = [
        ("content-type", "Content-Type"), ("cache-control", "Cache-Control"), ("etag", "ETag"),
        ("location", "Location"), ("retry-after", "Retry-After"),
        ("www-authenticate", "WWW-Authenticate"), ("idempotency-replayed", "Idempotency-Replayed"),
        ("latchkey-created", "Latchkey-Created"), ("latchkey-leader", "Latchkey-Leader"),
        ("latchkey-revision", "Latchkey-Revision"), ("latchkey-ttl", "Latchkey-TTL"),
    ]

    /// Answers with what the leader has answered.
    func respond(_ answer: ClientAnswer) {
        guard (200..<600).contains(answer.status) else { return fail(.outcomeUnknown) }
        respond(
            HTTPStatus(rawValue: UInt16(answer.status)),
            body: answer.body.isEmpty ? .none : .bytes(answer.body),
            bound: .none
        ) { fields in
            for (name, field) in Self.answerFields {
                if let value = answer.field(name) { fields.add(field, text: value) }
            }
        }
    }
}
