internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The OpenFeature Remote Evaluation Protocol (OFREP 0.2), for SDKs of feature flags: the
/// properties below `flags/`.
///
/// A flag is the value of its property, whatever the context says: there are no rules here. Errors
/// that SDKs do not read, such as a missing right, are problem details as everywhere.
struct FlagRoutes: Sendable {
    private static let prefix = "flags/"
    private static let path = "/ofrep/v1/evaluate/flags"
    /// The maximum number of flags in one answer, and of their bytes without those of the last
    /// flag.
    private static let countMax = PageRequest.limitMax
    private static let byteCountMax = ListRoutes.byteCountMax

    let store: ServedProperties
    let lists: ListRoutes
    let depthMax: Int

    func add(to table: inout RouteTable) {
        table.add(
            .post,
            "\(Self.path)/{name}",
            .read,
            needs: .token,
            statuses: [200, 400, 404, 415]
        ) { request, match throws(RequestFailure) in
            try evaluate(request, match)
        }
        table.add(
            .post,
            Self.path,
            .read,
            needs: .token,
            statuses: [200, 304, 400, 415]
        ) { request, _ throws(RequestFailure) in
            try evaluateAll(request)
        }
    }

    private func evaluate(_ request: ServiceRequest, _ match: RouteMatch) throws(RequestFailure) {
        _ = try request.query([])
        let key = try request.text(match.capture)
        let name = try ServiceRequest.name(Self.prefix + key)
        try request.require(.read, name)
        guard try takesContext(request, key) else { return }
        do throws(BacklogFull) {
            try store.look(name, Ask(at: CallSite(), timing: request.timing)) { property in
                guard let property else {
                    return request.refuse(404, key, "FLAG_NOT_FOUND", "There is no such flag.")
                }
                guard property.isFlag else {
                    return request.refuse(400, key, "GENERAL", "A flag is no null and no array.")
                }
                var json = JSONWriter(refersToValues: true)
                json.object { $0.flag(property, Self.prefix) }
                request.answer(json)
            }
        } catch {
            throw RequestFailure(.backlogFull)
        }
    }

    private func evaluateAll(_ request: ServiceRequest) throws(RequestFailure) {
        _ = try request.query([])
        let prefix = OwnedBytes(try request.prefix(Self.prefix, .read))
        guard try takesContext(request, nil) else { return }
        let known = request.exchange.headers(named: .ifNoneMatch)
        let page = PageRequest(
            prefix: prefix,
            after: nil,
            limit: Self.countMax,
            byteCountMax: Self.byteCountMax
        )
        lists.read(page, request) { page in
            guard !page.hasMore else {
                return request.refuse(
                    400,
                    nil,
                    "GENERAL",
                    "There are more than \(Self.countMax) flags, or 4 MiB of them: evaluate them "
                        + "one by one."
                )
            }
            // Any change of a flag changes the last revision or the number of flags.
            let last = page.properties.map(\.revision).max() ?? 0
            let tag = "\(page.properties.count)-\(last)"
            let isKnown: Bool
            do throws(MalformedEntityTags) {
                isKnown =
                    try known.map { (field) throws(MalformedEntityTags) in
                        try EntityTags.names(tag, in: field, comparison: .weak)
                    } ?? false
            } catch {
                return request.fail(.invalidCondition)
            }
            guard !isKnown else {
                return request.respond(.notModified) { $0.add("ETag", text: "\"\(tag)\"") }
            }
            var json = JSONWriter(refersToValues: true)
            json.object { json in
                json.array("flags") { list in
                    for property in page.properties where property.isFlag {
                        list.object { $0.flag(property, Self.prefix) }
                    }
                }
            }
            request.answer(json, tag: tag)
        }
    }

    /// Checks the body; if it is not a context, the request is answered.
    private func takesContext(
        _ request: ServiceRequest,
        _ key: String?
    ) throws(RequestFailure) -> Bool {
        guard !request.exchange.body.isEmpty else { return true }
        do throws(RequestFailure) {
            try request.jsonBody(depthMax: depthMax)
        } catch {
            guard error.problem.status == 400 else { throw error }
            request.refuse(400, key, "PARSE_ERROR", error.detail ?? error.problem.title)
            return false
        }
        let isContext = unsafe request.exchange.body.withUnsafeBytes { bytes in
            let body = unsafe JSONView(bytes)
            let context = body.members.first { $0.name.isString("context") }
            return body.kind == .object && context.map { $0.value.kind == .object } ?? true
        }
        if !isContext {
            request.refuse(400, key, "INVALID_CONTEXT", "The context is no object.")
        }
        return isContext
    }
}

extension ServiceRequest {
    fileprivate func answer(_ json: JSONWriter, tag: String? = nil) {
        respond(.ok, body: json.body, bound: .refuses) { answer in
            answer.add("Content-Type", "application/json")
            if let tag { answer.add("ETag", text: "\"\(tag)\"") }
        }
    }

    /// Answers with an error as SDKs read it.
    fileprivate func refuse(
        _ status: UInt16,
        _ key: String?,
        _ code: String,
        _ details: String
    ) {
        var json = JSONWriter()
        json.object { json in
            if let key { json.member("key", key) }
            json.member("errorCode", code)
            json.member("errorDetails", details)
        }
        respond(HTTPStatus(rawValue: status), body: json.body) { answer in
            answer.add("Content-Type", "application/json")
        }
    }
}

extension JSONWriter {
    /// Writes the members of an evaluated flag.
    fileprivate mutating func flag(_ property: Property, _ prefix: String) {
        unsafe member("key", utf8: .init(rebasing: property.nameBytes[prefix.utf8.count...]))
        member("reason", "STATIC")
        // Numbers of this size are not exact in JavaScript.
        member("variant", "\(property.revision)")
        member("value", valueOf: property)
    }
}

extension Property {
    /// Whether its value is of a type that flags have.
    fileprivate var isFlag: Bool {
        let kind = unsafe JSONView(valueBytes).kind
        return kind != .null && kind != .array
    }
}
