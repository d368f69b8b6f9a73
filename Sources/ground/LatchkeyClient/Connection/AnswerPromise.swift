/// The service's answer to a request that it has done.
///
/// Any other answer is of another server, such as the login page of a proxy.
package struct AnswerPromise: Sendable, Equatable {
    let statuses: [Int]
    /// The media type of the body; nil for an answer without a body.
    let type: String?
    /// Whether it has the revision of a property as its entity tag.
    let hasRevision: Bool
    /// The members of its object, which another server's object does not have.
    let members: [String: Kind]

    enum Kind: Sendable {
        case number, truth, text, list, object

        fileprivate func isOne(_ value: JSONValue) -> Bool {
            switch self {
            case .number: value.integer != nil
            case .truth: value.boolean != nil
            case .text: value.string != nil
            case .list: value.bytes.first == UInt8(ascii: "[")
            case .object: value.bytes.first == UInt8(ascii: "{")
            }
        }
    }

    private init(
        _ statuses: [Int],
        _ type: String?,
        hasRevision: Bool = false,
        members: [String: Kind] = [:]
    ) {
        self.statuses = statuses
        self.type = type
        self.hasRevision = hasRevision
        self.members = members
    }

    private static let json = "application/json"

    /// The value of a property.
    static let value = Self([200], json, hasRevision: true)
    static let written = Self([201, 204], nil, hasRevision: true)
    static let removed = Self([204], nil)
    static let events = Self([200], "text/event-stream")
    static let lines = Self([200], "application/x-ndjson")
    static let metrics = Self([200], "text/plain")

    init(_ method: ClientRequest.Method, _ path: String) {
        self =
            switch (method, path) {
            case (_, "/v1/watch"): .events
            case (_, "/v1/export"): .lines
            case (_, "/metrics"): .metrics
            case (_, "/v1/transactions"): .object(["succeeded": .truth, "results": .list])
            case (_, "/v1/pop"): .object(["result": .object])
            case (_, "/v1/count"): .object(["count": .number])
            case (_, "/v1/import"): .object(["imported": .number])
            case (_, "/v1/strategy"): .object(["from": .text, "to": .text])
            case (_, "/v1/promote"): .object(["revision": .number])
            case (.delete, "/v1/properties"): .object(["count": .number, "more": .truth])
            case (_, "/v1/properties"): .object(["properties": .list])
            default: .object([:])
            }
    }

    private static func object(_ members: [String: Kind]) -> Self {
        Self([200], json, members: members)
    }

    init(_ method: ClientRequest.Method, property action: String) {
        self =
            switch (method, action) {
            case (.put, _), (_, "touch"): .written
            case (.delete, _): .removed
            default: .value
            }
    }

    /// Whether an answer is the promised one.
    func isKept(by answer: ClientAnswer) -> Bool {
        guard statuses.contains(answer.status) else { return false }
        guard !hasRevision || answer.revision != nil else { return false }
        guard let type else { return hasRevision || answer.mediaType == nil }
        guard answer.mediaType == type else { return false }
        guard type == Self.json else { return true }
        guard let json = answer.json else { return false }
        return members.allSatisfy { name, kind in json[name].map(kind.isOne) ?? false }
    }
}

/// The server and the meaning of an answer.
enum AnswerMeaning: Equatable {
    /// The promised answer.
    case promised
    /// A problem of the service, with its name.
    case problem(String)
    /// Of another server that could not pass the request on; `isInDoubt` if it may have passed it
    /// on.
    case passing(isInDoubt: Bool)
    /// Of another server.
    case foreign

    /// Whether the service may have done the request.
    var isInDoubt: Bool {
        [.problem("outcome-unknown"), .passing(isInDoubt: true)].contains(self)
    }

    /// Whether the same request can get another answer later.
    static func isPassing(_ answer: ClientAnswer, _ meaning: Self) -> Bool {
        switch meaning {
        case .promised, .foreign: false
        case .problem("outcome-unknown"), .passing: true
        case .problem: [429, 503].contains(answer.status)
        }
    }
}

extension ClientAnswer {
    func meaning(_ promise: AnswerPromise) -> AnswerMeaning {
        if promise.isKept(by: self) { return .promised }
        if let problem { return .problem(problem) }
        return switch status {
        case 425, 429: .passing(isInDoubt: false)
        case 408, 500, 502, 503, 504: .passing(isInDoubt: true)
        default: .foreign
        }
    }

    /// The name of the problem, if the answer is one of the service.
    package var problem: String? {
        guard mediaType == "application/problem+json", !isSuccess,
            let type = json?["type"]?.string, let start = type.firstRange(of: "/problems/")
        else { return nil }
        return String(type[start.upperBound...])
    }

    /// The media type in lower case, without parameters.
    var mediaType: String? {
        field("content-type").map { type in
            String(type.lowercased().prefix { !"; \t".contains($0) })
        }
    }
}
