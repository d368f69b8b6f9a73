/// What can go wrong with a request, as data: the status, the sentence for people, and the page
/// that a problem's `type` leads to (RFC 9457).
///
/// The raw value is the last part of the type's path: `/problems/malformed-json`.
package enum Problem: String, CaseIterable, Sendable {
    case malformedJSON = "malformed-json"
    case tooDeep = "too-deep"
    case invalidBody = "invalid-body"
    case invalidName = "invalid-name"
    case invalidQuery = "invalid-query"
    case invalidCondition = "invalid-condition"
    case invalidTarget = "invalid-target"
    case partialPut = "partial-put"
    case malformedRequest = "malformed-request"
    case notFound = "not-found"
    case noRoute = "no-route"
    case methodNotAllowed = "method-not-allowed"
    case requestTimeout = "request-timeout"
    case notAnInteger = "not-an-integer"
    case overflow = "overflow"
    case preconditionFailed = "precondition-failed"
    case bodyTooLarge = "body-too-large"
    case targetTooLong = "target-too-long"
    case unsupportedMediaType = "unsupported-media-type"
    case misdirectedRequest = "misdirected-request"
    case headersTooLarge = "headers-too-large"
    case tooManyConnectionsPerAddress = "too-many-connections-per-address"
    case outcomeUnknown = "outcome-unknown"
    case unsupportedTransferCoding = "unsupported-transfer-coding"
    case tooManyConnections = "too-many-connections"
    case outOfMemory = "out-of-memory"
    case backlogFull = "backlog-full"
    case timedOut = "timed-out"
    case draining = "draining"
    case storeFull = "store-full"

    package var status: Int {
        switch self {
        case .malformedJSON, .tooDeep, .invalidBody, .invalidName, .invalidQuery,
            .invalidCondition, .invalidTarget, .partialPut, .malformedRequest:
            400
        case .notFound, .noRoute: 404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .notAnInteger, .overflow: 409
        case .preconditionFailed: 412
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .unsupportedMediaType: 415
        case .misdirectedRequest: 421
        case .tooManyConnectionsPerAddress: 429
        case .headersTooLarge: 431
        case .outcomeUnknown: 500
        case .unsupportedTransferCoding: 501
        case .tooManyConnections, .outOfMemory, .backlogFull, .timedOut, .draining: 503
        case .storeFull: 507
        }
    }

    package var title: String {
        switch self {
        case .malformedJSON: "The body is not JSON."
        case .tooDeep: "The JSON nests too deep."
        case .invalidBody: "The body is JSON, but not what this request takes."
        case .invalidName: "The property's name is not allowed."
        case .invalidQuery: "The query is not what this request takes."
        case .invalidCondition: "A condition is not a list of entity tags."
        case .invalidTarget: "The request's target is malformed."
        case .partialPut: "A part of a value cannot be put."
        case .notFound: "There is no such property."
        case .noRoute: "There is nothing at this path."
        case .methodNotAllowed: "This path does not have this method."
        case .requestTimeout: "The request took too long to arrive."
        case .notAnInteger: "The property is not an integer of 64 bits."
        case .overflow: "The sum is not an integer of 64 bits."
        case .preconditionFailed: "The property is not as the conditions demand."
        case .bodyTooLarge: "The body is too large."
        case .targetTooLong: "The request's target is too long."
        case .unsupportedMediaType: "The body's media type is not supported."
        case .misdirectedRequest: "The request is for another host."
        case .headersTooLarge: "The request's header fields are too large."
        case .malformedRequest: "The request is not HTTP."
        case .tooManyConnectionsPerAddress: "The address has as many connections as it may."
        case .outcomeUnknown: "It is not known whether the request takes effect."
        case .unsupportedTransferCoding: "The body's transfer coding is not supported."
        case .tooManyConnections: "The server has as many connections as it takes."
        case .outOfMemory: "There is no memory for the request."
        case .backlogFull: "As many writes wait as the strategy accepts."
        case .timedOut: "The strategy did not answer in time."
        case .draining: "The server is shutting down."
        case .storeFull: "The store is full."
        }
    }

    /// What a client can do about it: the text of the problem's page.
    package var advice: String {
        switch self {
        case .malformedJSON:
            "Send one JSON text (RFC 8259) in UTF-8 and nothing after it. The detail says at "
                + "which byte reading stopped."
        case .tooDeep:
            "Nest arrays and objects less deep than --max-json-depth, or raise that bound."
        case .invalidBody:
            "To increment, send nothing, or an object whose only member is \"by\", an integer of "
                + "64 bits."
        case .invalidName:
            "A name is 1 to 256 bytes of UTF-8 without control characters, percent-encoded in "
                + "the path. %2F is a slash that belongs to the name."
        case .invalidQuery:
            "Use each parameter once, within its bounds, and only those that the request "
                + "documents. /openapi.yaml has the list."
        case .invalidCondition:
            "If-Match and If-None-Match take * or a list of entity tags in quotes, such as \"7\"."
        case .invalidTarget:
            "A percent sign stands before two hexadecimal digits, and what they encode is UTF-8."
        case .partialPut:
            "Send the whole value, without Content-Range (RFC 9110 section 14.4)."
        case .notFound:
            "Create the property with PUT, or list the names with GET /v1/properties."
        case .noRoute:
            "/openapi.yaml has the list of paths."
        case .methodNotAllowed:
            "The Allow header has the list of methods."
        case .requestTimeout:
            "Send the whole request within --request-timeout-seconds."
        case .notAnInteger:
            "Only a JSON integer that fits in 64 bits can be incremented. Replace the value with "
                + "PUT first."
        case .overflow:
            "The value is as it was. Increment by less, or replace the value with PUT."
        case .preconditionFailed:
            "Get the property, look at its ETag, and decide anew."
        case .bodyTooLarge:
            "Send at most as many bytes as --max-body-bytes says, or raise that bound."
        case .targetTooLong:
            "Path and query together have at most --max-target-bytes bytes."
        case .unsupportedMediaType:
            "Send application/json without a content coding."
        case .misdirectedRequest:
            "Use an address or localhost, or name the host with --allowed-host. Other names are "
                + "refused because a page of another site could use them (DNS rebinding)."
        case .headersTooLarge:
            "All header fields together have at most --max-header-bytes bytes and 100 lines. "
                + "Very many cookies can be too many for less."
        case .malformedRequest:
            "A request line and header fields as in RFC 9112, with one Host and one length."
        case .tooManyConnectionsPerAddress:
            "Use the connections that are open, or raise --max-connections-per-address."
        case .outcomeUnknown:
            "The request was accepted, and its result did not come in time. Read the property "
                + "before you send the request again."
        case .unsupportedTransferCoding:
            "Send the body with a Content-Length, or chunked."
        case .outOfMemory:
            "Try again after the time that Retry-After says."
        case .tooManyConnections:
            "Try again after the time that Retry-After says, and keep connections alive instead "
                + "of opening new ones."
        case .backlogFull:
            "Nothing was changed. Try again after the time that Retry-After says, and send "
                + "fewer writes at once."
        case .timedOut:
            "Nothing was changed. Try again after the time that Retry-After says. The bound is "
                + "--answer-timeout-seconds."
        case .draining:
            "Try again after the time that Retry-After says; another process may have taken over."
        case .storeFull:
            "Delete properties, or raise --max-properties or --max-bytes. Reading, deleting and "
                + "making values smaller go on working."
        }
    }

    package var path: String { "/problems/\(rawValue)" }

    /// Seconds until it makes sense to try again, for the problems that pass by themselves.
    package var retryAfterSeconds: Int? {
        switch self {
        case .tooManyConnections, .tooManyConnectionsPerAddress, .outOfMemory, .backlogFull,
            .timedOut, .draining:
            1
        default: nil
        }
    }

    /// The problem's JSON object.
    ///
    /// The detail is about this occurrence, for people; it is the advice if there is no more to
    /// say. Values and names that a client sent stay out of it.
    package func json(detail: String? = nil) -> [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.member("type", path)
            object.member("title", title)
            object.member("status", status)
            object.member("detail", detail ?? advice)
        }
        return json.bytes
    }
}
