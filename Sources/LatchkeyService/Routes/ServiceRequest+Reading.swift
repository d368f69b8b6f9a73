internal import LatchkeyHTTP
internal import LatchkeyStore

/// Reads and checks the parts of a request. Errors are thrown as the problem to answer with.
extension ServiceRequest {
    /// A property's name from a segment of the path.
    ///
    /// A segment without escapes, the usual case, is not copied: the name borrows the bytes of the
    /// request, which are valid until the answer. The caller must have the right for the name.
    func name(_ segment: Bytes, _ right: Right) throws(RequestFailure) -> PropertyName {
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

    private func decoded(_ segment: Bytes) throws(RequestFailure) -> [UInt8] {
        do {
            return try PercentDecoding.decode(segment)
        } catch {
            throw RequestFailure(.invalidTarget, error.detail)
        }
    }

    /// The parameters of the query: only these, and each at most once.
    func query(_ names: Set<String>) throws(RequestFailure) -> [String: String] {
        guard !exchange.query.isEmpty else {
            return [:]
        }
        let query: Query
        do {
            query = try Query(exchange.query)
        } catch {
            throw RequestFailure(.invalidQuery, "The query is not a list of name=value pairs.")
        }
        var values: [String: String] = [:]
        for parameter in query.parameters {
            guard names.contains(parameter.name) else {
                throw RequestFailure(
                    .invalidQuery,
                    names.isEmpty
                        ? "This request takes no parameters."
                        : "The parameters are \(names.sorted().joined(separator: ", "))."
                )
            }
            guard values.updateValue(parameter.value, forKey: parameter.name) == nil else {
                throw RequestFailure(.invalidQuery, "\(parameter.name) is given twice.")
            }
        }
        return values
    }

    /// A prefix of names from a query; without one, that of all names.
    ///
    /// The caller must have the right for all names that begin with it.
    func prefix(_ text: String?, _ right: Right) throws(RequestFailure) -> [UInt8] {
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
    static func limit(
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

    func noQuery() throws(RequestFailure) {
        if !exchange.query.isEmpty {
            _ = try query([])
        }
    }

    /// The parameter `ttl` of a write, which takes no other one.
    func ttl() throws(RequestFailure) -> TimeToLive? {
        guard !exchange.query.isEmpty, let text = try query(["ttl"])["ttl"] else {
            return nil
        }
        guard let ttl = TimeToLiveText.milliseconds(text) else {
            throw RequestFailure(.invalidQuery, "ttl \(TimeToLiveText.rule).")
        }
        return ttl
    }

    /// The conditions of `If-Match` and `If-None-Match`, for the store to check.
    func conditions() throws(RequestFailure) -> Conditions {
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

    /// Checks that the body, if it has a media type, is JSON, and that it has no content coding.
    func bodyIsJSON() throws(RequestFailure) {
        if let type = exchange.header(named: .contentType),
            !MediaType.isJSON(type) || exchange.repeatsHeader(named: .contentType)
        {
            throw RequestFailure(.unsupportedMediaType)
        }
        try noContentCoding()
    }

    func noContentCoding() throws(RequestFailure) {
        if let coding = exchange.header(named: .contentEncoding),
            String(decoding: coding, as: UTF8.self).lowercased() != "identity"
        {
            throw RequestFailure(.unsupportedMediaType, "Send the body without a content coding.")
        }
    }

    /// Checks that the body is valid JSON.
    func jsonBody(depthMax: Int) throws(RequestFailure) {
        try bodyIsJSON()
        try checkJSON(depthMax: depthMax)
    }

    /// Checks that the body is a merge patch: valid JSON with the media type for it.
    func mergePatchBody(depthMax: Int) throws(RequestFailure) {
        guard let type = exchange.header(named: .contentType), MediaType.isMergePatch(type),
            !exchange.repeatsHeader(named: .contentType)
        else {
            throw RequestFailure(
                .unsupportedMediaType,
                "Send Content-Type: \(MediaType.mergePatch)."
            )
        }
        try noContentCoding()
        try checkJSON(depthMax: depthMax)
    }

    private func checkJSON(depthMax: Int) throws(RequestFailure) {
        do {
            try unsafe exchange.body.withUnsafeBytes { (bytes) throws(InvalidJSON) in
                try unsafe JSONText.check(bytes, depthMax: depthMax)
            }
        } catch {
            throw switch error {
            case .malformed(let offset):
                RequestFailure(.malformedJSON, "The JSON is not valid after \(offset) bytes.")
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

extension Query {
    /// The value of a parameter that is true or false.
    static func flag(
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
