internal import LatchkeyHTTP
internal import LatchkeyStore

/// What requests are made of, checked. Whatever is wrong is thrown as the problem to answer with.
extension Call {
    /// A property's name from a path's segment.
    ///
    /// A segment without escapes is borrowed from the request, which stays in place until the
    /// answer; that is the usual case and costs no copy.
    func name(_ segment: Bytes) throws(RequestFailure) -> PropertyName {
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

    /// The parameters of the query, each at most once and none but these.
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

    func noQuery() throws(RequestFailure) {
        if !exchange.query.isEmpty {
            _ = try query([])
        }
    }

    /// `If-Match` and `If-None-Match`, in the form that the store checks in one step with the act.
    func conditions() throws(RequestFailure) -> Conditions {
        Conditions(
            ifMatch: try tags("if-match", .strong),
            ifNoneMatch: try tags("if-none-match", .weak)
        )
    }

    private func tags(
        _ name: StaticString,
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

    /// Checks that the body, if it says what it is, is JSON without a content coding.
    func bodyIsJSON() throws(RequestFailure) {
        if let type = exchange.header(named: "content-type"),
            !MediaType.isJSON(type) || exchange.headerCount(named: "content-type") > 1
        {
            throw RequestFailure(.unsupportedMediaType)
        }
        if let coding = exchange.header(named: "content-encoding"),
            String(decoding: coding, as: UTF8.self).lowercased() != "identity"
        {
            throw RequestFailure(.unsupportedMediaType, "Send the body without a content coding.")
        }
    }

    /// Checks that the body is one JSON text.
    func jsonBody(depthMax: Int) throws(RequestFailure) {
        try bodyIsJSON()
        do {
            try unsafe exchange.body.withUnsafeBytes { (bytes) throws(InvalidJSON) in
                try unsafe JSONText.check(bytes, depthMax: depthMax)
            }
        } catch {
            throw switch error {
            case .malformed(let offset):
                RequestFailure(.malformedJSON, "It is no JSON text after \(offset) bytes.")
            case .notUTF8(let offset):
                RequestFailure(.malformedJSON, "It is not UTF-8 after \(offset) bytes.")
            case .tooDeep:
                RequestFailure(.tooDeep, "Arrays and objects can nest \(depthMax) deep.")
            case .outOfMemory:
                RequestFailure(.outOfMemory)
            }
        }
    }
}

extension InvalidName {
    fileprivate var detail: String {
        switch self {
        case .empty: "The name is empty."
        case .tooLong: "The name has more than \(PropertyName.byteCountMax) bytes."
        case .notUTF8: "The name is not UTF-8."
        case .controlCharacter: "The name has a control character."
        }
    }
}

extension PercentDecodingError {
    fileprivate var detail: String {
        switch self {
        case .truncatedEscape: "A percent sign has no two hexadecimal digits after it."
        case .invalidText: "What is percent-encoded is not UTF-8."
        }
    }
}

extension Query {
    /// A parameter that is true or false.
    static func flag(
        _ text: String?,
        name: String,
        default standard: Bool
    ) throws(RequestFailure) -> Bool {
        switch text {
        case nil: return standard
        case "true": return true
        case "false": return false
        default: throw RequestFailure(.invalidQuery, "\(name) is true or false.")
        }
    }
}
