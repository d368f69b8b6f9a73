internal import LatchkeySettings

/// A request to a service.
package struct ClientRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
        case post = "POST"
    }

    package enum Body: Sendable {
        case bytes([UInt8])
        /// The bytes read from the descriptor, up to its end.
        case descriptor(Int32)
    }

    /// A stream is broken if nothing comes for this long: by default, the service sends a comment
    /// every 15 seconds.
    package static let silenceSeconds = 60

    package let method: Method
    /// Percent-encoded where a path requires it.
    package let path: String
    /// Names and values, as they are.
    package var query: [(name: String, value: String)] = []
    /// As "name: value".
    package private(set) var fields: [String] = []
    package private(set) var body: Body?
    /// The maximum time; nil for that of the connection.
    package var timeLimit: Duration?
    /// Whether the answer may take any time, but not be silent.
    package var isStream = false
    /// The maximum time until the head of a stream; nil for any.
    package var headLimit: Duration?
    /// The largest body that is collected; a longer one is ``ConnectionFailure/Kind/unusable``.
    package var answerByteCountMax = 1 << 28
    /// How long the service waits before it answers: the parameter `wait` of each attempt is the
    /// rest of it.
    package var wait: Duration?
    /// The service's answer when it has done it.
    let promise: AnswerPromise
    /// Makes repeats of the request one request for the service.
    package private(set) var key: String?
    /// Whether the key was made for this call alone: then the call can be made without it.
    package private(set) var isKeyOfCall = false
    /// Whether a second request like this one does no harm.
    package private(set) var isRepeatable: Bool

    /// A request that is not for a property.
    package init(_ method: Method, _ path: String) {
        self.init(method, path, promise: AnswerPromise(method, path))
    }

    /// A request for one property.
    ///
    /// A touch can be made twice.
    package init(_ method: Method, property name: String, _ action: String = "") {
        let path = "/v1/properties/\(PercentEncoding.encoded(name))"
        let promise = AnswerPromise(method, property: action)
        self.init(method, action.isEmpty ? path : "\(path)/\(action)", promise: promise)
        if action == "touch" { isRepeatable = true }
    }

    private init(_ method: Method, _ path: String, promise: AnswerPromise) {
        self.method = method
        self.path = path
        self.promise = promise
        isRepeatable = method == .get
        // Otherwise libcurl would send the type of a form.
        if method == .post { fields = ["Content-Type:"] }
    }

    /// Advice to the caller that keeps it from being made twice, if it may have been made.
    package var repeatAdvice: String?

    /// Whether it may change something.
    package var isWrite: Bool { method != .get }

    /// Whether its body is gone once it was sent.
    var isSentOnce: Bool {
        if case .descriptor? = body { true } else { false }
    }

    /// The path and the query.
    package var target: String {
        let pairs = query.map { "\($0.name)=\(PercentEncoding.encoded($0.value))" }
        return pairs.isEmpty ? path : "\(path)?\(pairs.joined(separator: "&"))"
    }

    /// Adds a parameter, unless it has no value.
    package mutating func add(_ name: String, _ value: String?) {
        if let value { query.append((name, value)) }
    }

    package mutating func add(field: String) {
        fields.append(field)
    }

    /// Adds a field, also one with an empty value.
    package mutating func add(field name: String, _ value: String) {
        // libcurl leaves out a field that is only "name:".
        fields.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
    }

    /// - Parameters:
    ///   - body: The body.
    ///   - type: Its media type; nil for none.
    package mutating func send(_ body: Body, type: String?) {
        self.body = body
        fields.removeAll { $0 == "Content-Type:" }
        if let type { add(field: "Content-Type", type) } else { fields.append("Content-Type:") }
    }

    /// Makes repeats of this very request one request for the service.
    ///
    /// - Parameters:
    ///   - key: The key; nil for one that no other call has.
    ///   - isOfCall: Whether it was made for this call alone; nil if no key is given.
    package mutating func makeRepeatable(_ key: String? = nil, isOfCall: Bool? = nil) {
        let given = key ?? RandomKey.make()
        fields.append("Idempotency-Key: \(given)")
        (self.key, isKeyOfCall, isRepeatable) = (given, isOfCall ?? (key == nil), true)
    }

    /// Removes the key of the call: the service has no room for it.
    mutating func removeKey() {
        fields.removeAll { $0 == "Idempotency-Key: \(key ?? "")" }
        (key, isKeyOfCall, isRepeatable) = (nil, false, false)
        // The service does not know the key.
        repeatAdvice = nil
    }

    /// One attempt, which begins now.
    ///
    /// - Parameters:
    ///   - waitLeft: The rest of ``wait``.
    ///   - limit: The maximum time.
    /// - Returns: The request that is sent.
    func attempt(waitLeft: Duration?, limit: Duration) -> Self {
        var attempt = self
        if let waitLeft { attempt.add("wait", SecondsText.text(waitLeft)) }
        if !isStream {
            attempt.timeLimit = limit
        } else if !isSentOnce {
            attempt.headLimit = limit
        }
        return attempt
    }
}

/// Percent-encoding as in a path and a query (RFC 3986): all but unreserved characters.
package enum PercentEncoding {
    package static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let hex = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(hex)" : "%\(hex)"
            }
        }
        return encoded
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// Keys that no other request has.
package enum RandomKey {
    /// 128 random bits, as 32 hexadecimal digits.
    package static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
