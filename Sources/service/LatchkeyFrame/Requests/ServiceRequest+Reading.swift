internal import CLatchkeySystem
package import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeySettings
package import LatchkeyStore

/// Reads and checks the parts of a request. Errors are thrown as the problem to answer with.
extension ServiceRequest {
    /// A property's name from a segment of the path.
    ///
    /// A segment without escapes, the usual case, is not copied: the name borrows the bytes of the
    /// request, which are valid until the answer. The caller must have the right for the name.
    package func name(_ segment: Bytes, _ right: Right) throws(RequestFailure) -> PropertyName {
        let name = try name(segment)
        try require(right, name)
        return name
    }

    private func name(_ segment: Bytes) throws(RequestFailure) -> PropertyName {
        let owner = PercentDecoding.isPlain(segment) ? nil : OwnedBytes(try decoded(segment))
        do {
            return try unsafe segment.withUnsafeBytes { (bytes) throws(InvalidName) in
                try unsafe PropertyName(borrowing: owner?.bytes ?? bytes, owner: owner)
            }
        } catch {
            throw RequestFailure(.invalidName, error.detail)
        }
    }

    /// A segment of the path, decoded.
    package func text(_ segment: Bytes) throws(RequestFailure) -> String {
        String(decoding: try decoded(segment), as: UTF8.self)
    }

    private func decoded(_ segment: Bytes) throws(RequestFailure) -> [UInt8] {
        do {
            return try PercentDecoding.decode(segment)
        } catch {
            throw RequestFailure(.invalidTarget, error.detail)
        }
    }

    /// The parameters of the query: only these, and each at most once.
    ///
    /// The names are not made for a request without a query.
    package func query(
        _ names: @autoclosure () -> Set<String>
    ) throws(RequestFailure) -> [String: String] {
        try query(names()) { (_, _) in false }
    }

    /// The same, where `takes` is given each parameter first, and says whether it has taken it.
    package func query(
        _ names: @autoclosure () -> Set<String>,
        _ takes: (String, String) -> Bool
    ) throws(RequestFailure) -> [String: String] {
        guard !exchange.query.isEmpty else {
            return [:]
        }
        let names = names()
        let asksFreshness = asksFreshness
        let known = names.union(series.isRead ? Self.freshnessNames : [])
        var values: [String: String] = [:]
        for parameter in try parameters().parameters {
            // The route has read these for all its handlers.
            if asksFreshness, Self.freshnessNames.contains(parameter.name) { continue }
            guard names.contains(parameter.name) else {
                throw RequestFailure(
                    .invalidQuery,
                    known.isEmpty
                        ? "This request takes no parameters."
                        : Suggestion.correction(
                            of: parameter.name,
                            among: known.sorted(),
                            "This parameter"
                        )
                )
            }
            guard !takes(parameter.name, parameter.value) else {
                continue
            }
            guard values.updateValue(parameter.value, forKey: parameter.name) == nil else {
                throw RequestFailure(.invalidQuery, "\(parameter.name) is given twice.")
            }
        }
        return values
    }

    package func parameters() throws(RequestFailure) -> Query {
        do {
            return try Query(exchange.query)
        } catch {
            throw RequestFailure(.invalidQuery, "The query is not a list of name=value pairs.")
        }
    }

    /// A prefix of names from a query; without one, the prefix of all names.
    ///
    /// The caller must have the right for all names that begin with it.
    package func prefix(_ text: String?, _ right: Right) throws(RequestFailure) -> [UInt8] {
        let prefix = Array((text ?? "").utf8)
        guard prefix.count <= PropertyName.byteCountMax else {
            throw RequestFailure(
                .invalidQuery,
                "prefix must have at most \(PropertyName.byteCountMax) bytes."
            )
        }
        try require(right, prefix: prefix)
        return prefix
    }

    /// The length of a page from a query.
    package static func limit(
        _ text: String?,
        default standard: Int,
        max bound: Int
    ) throws(RequestFailure) -> Int {
        guard let text else {
            return standard
        }
        guard let limit = Int(text), (1...bound).contains(limit) else {
            throw RequestFailure(.invalidQuery, "limit must be a whole number from 1 to \(bound).")
        }
        return limit
    }

    package func noQuery() throws(RequestFailure) {
        _ = try query([])
    }

    /// The parameters `ttl` and `ttl-if-new` of a write, which takes no others.
    package func lifetime() throws(RequestFailure) -> (ttl: TimeToLive?, isOnlyIfNew: Bool) {
        let query = try query(["ttl", "ttl-if-new"])
        guard query.count < 2 else {
            throw RequestFailure(.invalidQuery, "Give ttl or ttl-if-new, not both.")
        }
        if let text = query["ttl-if-new"] {
            return (try Self.ttl(text, "ttl-if-new"), true)
        }
        return (try query["ttl"].map { (text) throws(RequestFailure) in try Self.ttl(text) }, false)
    }

    package static func ttl(
        _ text: String,
        _ name: String = "ttl"
    ) throws(RequestFailure) -> TimeToLive {
        guard let ttl = TimeToLiveText.milliseconds(text) else {
            throw RequestFailure(.invalidQuery, "\(name) \(TimeToLiveText.rule).")
        }
        return ttl
    }

    /// The longest wait, in milliseconds.
    private static let waitMillisecondsMax: TimeToLive = 60_000

    /// A parameter `wait`, in milliseconds; a positive one below half a millisecond is one.
    package static func wait(_ text: String?) throws(RequestFailure) -> TimeToLive {
        guard let text else {
            return 0
        }
        guard let wait = SecondsText.milliseconds(text, in: 0...waitMillisecondsMax) else {
            throw RequestFailure(.invalidQuery, "wait must be a number of seconds from 0 to 60.")
        }
        return wait == 0 && Double(text) != 0 ? 1 : wait
    }

    /// The end of a wait of this many milliseconds, in nanoseconds of the monotonic clock.
    ///
    /// The server does not take the request away before. The end is up to a sixteenth earlier, so
    /// that many waits do not end at once, as in Consul. A read that has already waited for its
    /// state has less time left.
    package func deadlineNanoseconds(_ wait: TimeToLive) -> UInt64 {
        exchange.awaitAnswer(for: .milliseconds(wait) + .seconds(30))
        let start = series.isRead ? exchange.startedNanoseconds : latchkey_system_nanoseconds()
        return start
            + UInt64(wait - .random(in: 0...wait / 16)) * 1_000_000
    }

    /// A name that stands in a query, in memory of its own.
    package static func name(_ text: String) throws(RequestFailure) -> PropertyName {
        let owner = OwnedBytes(Array(text.utf8))
        do {
            return try unsafe PropertyName(borrowing: owner.bytes, owner: owner)
        } catch {
            throw RequestFailure(.invalidName, error.detail)
        }
    }

    /// The conditions of `If-Match` and `If-None-Match`, for the store to check.
    package func conditions() throws(RequestFailure) -> Conditions {
        Conditions(
            ifMatch: try tags(.ifMatch, .strong),
            ifNoneMatch: try tags(.ifNoneMatch, .weak)
        )
    }

    @inline(__always)
    private func tags(
        _ name: FieldName,
        _ comparison: EntityTags.Comparison
    ) throws(RequestFailure) -> Conditions.Tags? {
        guard let field = exchange.headers(named: name) else {
            return nil
        }
        do {
            return try EntityTags.parse(field, comparison: comparison)
        } catch {
            throw RequestFailure(.invalidCondition)
        }
    }

    package func noContentCoding() throws(RequestFailure) {
        if let coding = exchange.header(named: .contentEncoding),
            String(decoding: coding, as: UTF8.self).lowercased() != "identity"
        {
            throw RequestFailure(.unsupportedMediaType, "Send the body without a content coding.")
        }
    }

    /// Checks that the body is valid JSON, and that its media type, if it has one, is that of JSON.
    package func jsonBody(depthMax: Int) throws(RequestFailure) {
        try jsonBody(depthMax: depthMax, MediaType.isJSON)
    }

    /// Checks that the body is a merge patch: valid JSON, and not of another media type.
    package func mergePatchBody(depthMax: Int) throws(RequestFailure) {
        try jsonBody(depthMax: depthMax, MediaType.isMergePatch)
    }

    @inline(__always)
    private func jsonBody(
        depthMax: Int,
        _ isRight: (Bytes) -> Bool
    ) throws(RequestFailure) {
        let type = try mediaType(isRight)
        try noContentCoding()
        do throws(RequestFailure) {
            try checkJSON(depthMax: depthMax)
        } catch {
            guard type == .right else { throw RequestFailure(.unsupportedMediaType, Self.noJSON) }
            throw error
        }
    }

    /// The verdict on the media type of a body.
    package enum BodyType {
        /// It is the right one, or there is none.
        case right
        /// It is that of a form, and not from a browser: `curl -d` sends it with any body.
        case form
    }

    /// Checks the media type of the body; without one, the type is right.
    ///
    /// A browser knows its body, so the type of a form is believed if a browser sends it.
    package func mediaType(
        _ isRight: (Bytes) -> Bool,
        detail: String? = nil
    ) throws(RequestFailure) -> BodyType {
        guard let type = exchange.header(named: .contentType) else { return .right }
        if exchange.repeatsHeader(named: .contentType) {
            throw RequestFailure(.unsupportedMediaType, "Content-Type is given twice.")
        }
        if isRight(type) { return .right }
        guard MediaType.isForm(type) else {
            throw RequestFailure(.unsupportedMediaType, detail)
        }
        guard !exchange.isOfBrowser else {
            throw RequestFailure(.unsupportedMediaType, detail ?? Self.noJSON)
        }
        return .form
    }

    private static let noJSON =
        "The body is that of a form, by its Content-Type. Send JSON, and Content-Type: "
        + "application/json: curl does so with --json in place of -d."

    private func checkJSON(depthMax: Int) throws(RequestFailure) {
        do {
            try unsafe exchange.body.withUnsafeBytes { (bytes) throws(InvalidJSON) in
                try unsafe JSONText.check(bytes, depthMax: depthMax)
            }
        } catch {
            throw switch error {
            case .malformed(let offset):
                RequestFailure(.malformedJSON, exchange.body.mistake(at: offset))
            case .notUTF8(let offset):
                RequestFailure(.malformedJSON, "The body is not UTF-8 after \(offset) bytes.")
            case .tooDeep:
                RequestFailure(
                    .tooDeep,
                    "Arrays and objects can be nested at most \(depthMax) levels deep."
                )
            }
        }
    }
}

extension PercentDecodingError {
    fileprivate var detail: String {
        switch self {
        case .truncatedEscape: "A percent sign is not followed by two hexadecimal digits."
        case .invalidText: "The percent-encoded text is not UTF-8."
        }
    }
}

extension Bytes {
    /// The mistake in a body that is not JSON, and its correction.
    ///
    /// - Parameter offset: The number of bytes before the error.
    /// - Returns: Sentences.
    fileprivate func mistake(at offset: Int) -> String {
        guard let first = first(where: { !" \t\r\n".utf8.contains($0) }) else {
            return "The body is empty. Send one JSON value."
        }
        let place = "The JSON is not valid after \(offset) bytes."
        switch first {
        case UInt8(ascii: "'"):
            return place + " A text needs double quotes: \"hello\"."
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
            let literals = ["true", "false", "null"].map { Array($0.utf8) }
            let isLiteral = literals.contains { starts(with: $0) }
            return place + (isLiteral ? "" : " A text needs quotes: \"hello\".")
        case UInt8(ascii: "{") where isName(before: offset):
            return place + " An object is {\"name\": value}, and its names have double quotes."
        default:
            return place
        }
    }

    /// Whether the mistake is a letter where the name of a member begins.
    private func isName(before offset: Int) -> Bool {
        let seen = prefix(offset)
        guard let last = seen.last, "a"..."z" ~= Character(UnicodeScalar(last | 0x20)) else {
            return false
        }
        let before = seen.dropLast().last { !" \t\r\n".utf8.contains($0) }
        return before == UInt8(ascii: "{") || before == UInt8(ascii: ",")
    }
}

extension Query {
    /// The value of a parameter that is true or false.
    package static func flag(
        _ text: String?,
        name: String,
        default standard: Bool
    ) throws(RequestFailure) -> Bool {
        switch text {
        case nil: return standard
        case "true": return true
        case "false": return false
        default: throw RequestFailure(.invalidQuery, "\(name) must be true or false.")
        }
    }
}
