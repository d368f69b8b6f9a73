internal import LatchkeyStore

/// The problems that a request can be answered with (RFC 9457): status, title, and the text of the
/// page at `type`.
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
    case invalidIdempotencyKey = "invalid-idempotency-key"
    case malformedRequest = "malformed-request"
    case unauthorized = "unauthorized"
    case forbidden = "forbidden"
    case notFound = "not-found"
    case noRoute = "no-route"
    case methodNotAllowed = "method-not-allowed"
    case requestTimeout = "request-timeout"
    case notAnInteger = "not-an-integer"
    case overflow = "overflow"
    case gone = "gone"
    case valueTooLarge = "value-too-large"
    case transactionTooLarge = "transaction-too-large"
    case preconditionFailed = "precondition-failed"
    case bodyTooLarge = "body-too-large"
    case targetTooLong = "target-too-long"
    case unsupportedMediaType = "unsupported-media-type"
    case idempotencyKeyReused = "idempotency-key-reused"
    case misdirectedRequest = "misdirected-request"
    case crossSiteRequest = "cross-site-request"
    case headersTooLarge = "headers-too-large"
    case tooManyConnectionsPerAddress = "too-many-connections-per-address"
    case clientShareTaken = "client-share-taken"
    case rateExceeded = "rate-exceeded"
    case outcomeUnknown = "outcome-unknown"
    case answerNotKept = "answer-not-kept"
    case unsupportedTransferCoding = "unsupported-transfer-coding"
    case tooManyConnections = "too-many-connections"
    case outOfMemory = "out-of-memory"
    case tooManyIdempotencyKeys = "too-many-idempotency-keys"
    case backlogFull = "backlog-full"
    case tooManyWatchers = "too-many-watchers"
    case timedOut = "timed-out"
    case draining = "draining"
    case recovering = "recovering"
    case journalFailed = "journal-failed"
    case diskFull = "disk-full"
    case storeFull = "store-full"
    case quotaExceeded = "quota-exceeded"
    case invalidLine = "invalid-line"
    case incompleteImport = "incomplete-import"
    case operationNotFound = "operation-not-found"
    case operationExists = "operation-exists"
    case dependencyCycle = "dependency-cycle"
    case unknownDependency = "unknown-dependency"
    case dependencyFailed = "dependency-failed"
    case tooManyOperations = "too-many-operations"
    case fetchNotAllowed = "fetch-not-allowed"
    case fetchFailed = "fetch-failed"
    case compareNotAvailable = "compare-not-available"
    case compareFailed = "compare-failed"
    case tooManyExports = "too-many-exports"
    case tooManyAnswers = "too-many-answers"
    case profilingOff = "profiling-off"
    case tooManyProfiles = "too-many-profiles"
    case notLeader = "not-leader"
    case notFollowing = "not-following"

    package var status: Int {
        switch self {
        case .malformedJSON, .tooDeep, .invalidBody, .invalidName, .invalidQuery,
            .invalidCondition, .invalidTarget, .partialPut, .malformedRequest,
            .invalidIdempotencyKey:
            400
        case .unauthorized: 401
        case .crossSiteRequest, .forbidden: 403
        case .notFound, .noRoute: 404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .notAnInteger, .overflow: 409
        case .gone: 410
        case .preconditionFailed: 412
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .unsupportedMediaType: 415
        case .misdirectedRequest: 421
        case .valueTooLarge, .transactionTooLarge, .idempotencyKeyReused: 422
        case .tooManyConnectionsPerAddress, .clientShareTaken, .rateExceeded: 429
        case .headersTooLarge: 431
        case .outcomeUnknown, .answerNotKept: 500
        case .unsupportedTransferCoding: 501
        case .tooManyConnections, .outOfMemory, .backlogFull, .timedOut, .draining, .recovering,
            .journalFailed, .tooManyIdempotencyKeys, .tooManyWatchers:
            503
        case .storeFull, .quotaExceeded, .diskFull: 507
        case .invalidLine, .incompleteImport: 400
        case .operationNotFound, .profilingOff: 404
        case .operationExists, .dependencyCycle: 409
        case .unknownDependency, .fetchNotAllowed, .compareNotAvailable: 422
        case .dependencyFailed: 424
        case .compareFailed: 500
        case .fetchFailed: 502
        case .tooManyOperations: 503
        case .tooManyExports, .tooManyAnswers, .tooManyProfiles: 503
        case .notLeader: 421
        case .notFollowing: 409
        }
    }

    package var title: String {
        switch self {
        case .malformedJSON: "The body is not JSON."
        case .tooDeep: "The JSON is nested too deeply."
        case .invalidBody: "The body is JSON, but not the JSON that this request takes."
        case .invalidName: "The property's name is not allowed."
        case .invalidQuery: "The query is not valid for this request."
        case .invalidCondition: "A condition is not a list of entity tags."
        case .invalidTarget: "The request target is malformed."
        case .partialPut: "PUT cannot replace a part of a value."
        case .invalidIdempotencyKey: "The Idempotency-Key is not valid."
        case .unauthorized: "The request has no valid token."
        case .forbidden: "The token does not allow this."
        case .notFound: "There is no such property."
        case .noRoute: "There is nothing at this path."
        case .methodNotAllowed: "This path does not support this method."
        case .requestTimeout: "The request took too long to arrive."
        case .notAnInteger: "The property is not a 64-bit integer."
        case .overflow: "The sum is not a 64-bit integer."
        case .gone: "This revision is not in the history."
        case .notLeader: "This service follows another one and takes no changes."
        case .notFollowing: "The service follows no other one."
        case .valueTooLarge: "The value would be too large."
        case .transactionTooLarge: "The transaction works on too many bytes."
        case .preconditionFailed: "The property does not meet the conditions of the request."
        case .bodyTooLarge: "The body is too large."
        case .targetTooLong: "The request target is too long."
        case .unsupportedMediaType: "The body's media type is not supported."
        case .misdirectedRequest: "The request is for another host."
        case .crossSiteRequest: "The request comes from a page of another site."
        case .idempotencyKeyReused: "The Idempotency-Key belongs to another request."
        case .headersTooLarge: "The request's header fields are too large."
        case .malformedRequest: "The request is not valid HTTP."
        case .tooManyConnectionsPerAddress: "There are too many connections from this address."
        case .clientShareTaken: "This client has its share."
        case .rateExceeded: "This client sends too many requests."
        case .outcomeUnknown: "The outcome of the request is not known."
        case .answerNotKept: "The answer to the first request was too long to be kept."
        case .unsupportedTransferCoding: "The body's transfer coding is not supported."
        case .tooManyConnections: "The server has too many connections."
        case .outOfMemory: "The server has no memory for the request."
        case .tooManyIdempotencyKeys: "There are too many idempotency keys."
        case .backlogFull: "Too many writes are waiting."
        case .tooManyWatchers: "There are too many watches and long polls."
        case .timedOut: "The strategy did not answer in time."
        case .draining: "The server is shutting down."
        case .recovering: "The server is reading its data."
        case .journalFailed: "The server cannot write its data."
        case .diskFull: "The disk of the server is full."
        case .storeFull: "The store is full."
        case .quotaExceeded: "A quota is full."
        case .invalidLine: "A line cannot be imported."
        case .incompleteImport: "The lines are not all of an export."
        case .operationNotFound: "There is no such operation."
        case .operationExists: "There is an operation with this identifier already."
        case .dependencyCycle: "The operations depend on each other in a cycle."
        case .unknownDependency: "There is no operation to depend on."
        case .dependencyFailed: "An operation that this one depends on has not finished."
        case .tooManyOperations: "There are too many operations."
        case .fetchNotAllowed: "Nothing may be fetched from there."
        case .fetchFailed: "The fetch did not succeed."
        case .compareNotAvailable: "This program makes no comparisons."
        case .compareFailed: "The comparison did not succeed."
        case .tooManyExports: "There are too many exports."
        case .tooManyAnswers: "Too many answers wait for clients that read slowly."
        case .profilingOff: "The service does not profile."
        case .tooManyProfiles: "There are too many profiles."
        }
    }

    /// What a client can do: the text of the problem's page.
    package var advice: String {
        switch self {
        case .malformedJSON:
            "Send one JSON value (RFC 8259) in UTF-8 and nothing after it. The detail names the "
                + "byte of the error."
        case .tooDeep:
            "Nest arrays and objects no deeper than --max-json-depth, or raise that bound."
        case .invalidBody:
            "/openapi.yaml has the schema of the body. To increment, send no body, or an object "
                + "with the single member \"by\", a 64-bit integer."
        case .invalidName:
            "A name has 1 to 256 bytes of UTF-8 without control characters. It is "
                + "percent-encoded in the path; %2F is a slash in the name."
        case .invalidQuery:
            "Use only the parameters of this request, each at most once and within its bounds. "
                + "/openapi.yaml lists them."
        case .invalidCondition:
            "Send If-Match and If-None-Match with * or with a list of quoted entity tags, such as "
                + "\"7\"."
        case .invalidTarget:
            "Send two hexadecimal digits after each percent sign, and encode text as UTF-8."
        case .partialPut:
            "Send the whole value, without Content-Range (RFC 9110 section 14.4)."
        case .invalidIdempotencyKey:
            "Send one Idempotency-Key of 1 to 255 visible ASCII characters, such as a UUID."
        case .unauthorized:
            "Send Authorization: Bearer and a token of --token-file, which 'latchkey token create' "
                + "makes."
        case .forbidden:
            "The detail names the right that is missing. Add it to the token's line in "
                + "--token-file, or use another token. Rights for prefixes of names must hold for "
                + "all names that the request can reach."
        case .notFound:
            "Create the property with PUT, or list the names with GET /v1/properties."
        case .noRoute:
            "/openapi.yaml lists the paths. A / in a property's name is written %2F in the path."
        case .methodNotAllowed:
            "The Allow header lists the methods of this path."
        case .requestTimeout:
            "Send the whole request within --request-timeout-seconds."
        case .notAnInteger:
            "Only a JSON integer of at most 64 bits can be incremented. Replace the value with "
                + "PUT first."
        case .overflow:
            "The value is unchanged. Increment by less, or replace the value with PUT."
        case .gone:
            "Ask for a later revision, or read the current state. The bounds of the history are "
                + "--history and --history-bytes."
        case .valueTooLarge:
            "Nothing was changed. Make the value smaller, read fewer values in one transaction, or "
                + "raise --max-body-bytes. It bounds values that grow by merge patches. The values "
                + "in the results of a transaction have at most 16 times as many bytes."
        case .transactionTooLarge:
            "Nothing was changed. Use fewer or shorter values in the equals, increment and merge "
                + "of one transaction, or raise --max-transaction-bytes."
        case .preconditionFailed:
            "Get the property and its ETag, and decide again."
        case .bodyTooLarge:
            "Send at most --max-body-bytes bytes, or raise that bound."
        case .targetTooLong:
            "Send a path and query of at most --max-target-bytes bytes, or raise that bound."
        case .unsupportedMediaType:
            "Send application/json without a content coding: curl does so with --json. PATCH also "
                + "takes application/merge-patch+json, and an import application/x-ndjson."
        case .misdirectedRequest:
            "Use an address or localhost, or allow the name with --allowed-host. Other names are "
                + "refused because a page of another site could use them (DNS rebinding)."
        case .crossSiteRequest:
            "Nothing was changed, and nothing is told. Only pages of this service can use it: "
                + "Origin must name the host and port of Host. A proxy must pass on Host as the "
                + "browser sent it. Allow pages of your own with --allow-origin."
        case .idempotencyKeyReused:
            "Nothing was changed. Use a key for one request only: the same method, target and "
                + "body. Choose a new key for a new request."
        case .headersTooLarge:
            "Send at most 100 header lines, of at most --max-header-bytes bytes together. Very "
                + "many cookies can be too large below that bound."
        case .malformedRequest:
            "Send a request line and header fields as in RFC 9112, with one Host and one length."
        case .tooManyConnectionsPerAddress:
            "Use your open connections again, or raise --max-connections-per-address or "
                + "--client-share. If the address is a proxy's, name it with --trusted-proxy."
        case .clientShareTaken:
            "Nothing was changed. The detail names what there is a share of. Give back what you "
                + "have, or raise --client-share. If the address is a proxy's, name it with "
                + "--trusted-proxy."
        case .rateExceeded:
            "Nothing was changed. Try again after the time in Retry-After, and send fewer "
                + "requests. The bounds are --rate and --rate-burst."
        case .outcomeUnknown:
            "The request was accepted and may take effect, but it was not finished in time. Repeat "
                + "it if it had an Idempotency-Key. Otherwise read the property before you send "
                + "the request again."
        case .answerNotKept:
            "The first request with this Idempotency-Key had its effect, and it was not run again. "
                + "Read the properties to see their values. The bound is --idempotency-bytes."
        case .unsupportedTransferCoding:
            "Send the body with a Content-Length, or chunked."
        case .outOfMemory:
            "Try again after the time in Retry-After."
        case .tooManyConnections:
            "Try again after the time in Retry-After, and use connections for several requests."
        case .tooManyIdempotencyKeys:
            "Nothing was changed. Try again after the time in Retry-After. The bounds are "
                + "--max-idempotency-keys and --idempotency-bytes."
        case .backlogFull:
            "Nothing was changed. Try again after the time in Retry-After, and send fewer writes "
                + "at once. The bound is --backlog."
        case .tooManyWatchers:
            "Try again after the time in Retry-After, or raise --max-watchers."
        case .timedOut:
            "Nothing was changed. Try again after the time in Retry-After. The bound is "
                + "--answer-timeout-seconds."
        case .recovering:
            "Try again after the time in Retry-After. /readyz says how far it is."
        case .journalFailed:
            "Nothing was changed. Try again after the time in Retry-After. Reads still work; "
                + "/readyz?verbose and the log say what is wrong."
        case .diskFull:
            "Nothing was changed. Make room in the file system of --data. Reads still work, and "
                + "writes go on by themselves."
        case .draining:
            "Try again after the time in Retry-After; another process may then serve."
        case .storeFull:
            "Delete properties, or raise --max-properties or --max-bytes. Reads, deletes and "
                + "smaller values still work."
        case .quotaExceeded:
            "Nothing was changed. The detail names the prefix and the bound. Delete properties "
                + "with the prefix, or raise --quota. Nothing is removed to make room in a quota."
        case .invalidLine:
            "Send one object on each line, with the members name and value, and maybe ttl. The "
                + "lines before the batch of this one are applied."
        case .incompleteImport:
            "Send all lines of an export, the last of which has \"end\":true. Where it is missing, "
                + "the export was cut off. Send ?partial=true with lines that are a part of an "
                + "export, or none. The lines before the last batch are applied."
        case .operationNotFound:
            "List the operations with GET /v1/operations. Ended ones are kept up to "
                + "--operation-history."
        case .operationExists:
            "Choose another id, or none. Ended operations keep theirs until they are forgotten."
        case .dependencyCycle:
            "Leave out one of the dependencies. Nothing of the request was accepted."
        case .unknownDependency:
            "Send the operations that depend on each other in one request, or in their order. "
                + "Operations that ended long ago are forgotten."
        case .dependencyFailed:
            "Look at the operations in dependsOn: one of them failed or was cancelled."
        case .tooManyOperations:
            "Nothing was accepted. Try again after the time in Retry-After. The bounds are "
                + "--max-operations and --max-operation-bytes."
        case .fetchNotAllowed:
            "Allow the host with --allow-fetch. Private and loopback addresses must be listed "
                + "themselves."
        case .fetchFailed:
            "Check that the URL answers with JSON, within --fetch-timeout-seconds and "
                + "--fetch-max-bytes."
        case .compareNotAvailable:
            "Send the operation to a service that was started with latchkey serve."
        case .compareFailed:
            "The detail says what went wrong."
        case .tooManyExports:
            "Try again after the time in Retry-After, or raise --max-exports."
        case .tooManyAnswers:
            "Nothing was changed. Try again after the time in Retry-After, or raise --answer-bytes."
        case .profilingOff:
            "Start the service with --profile, or with LATCHKEY_PROFILE=true."
        case .notLeader:
            "Send the request to the address in leader, which Latchkey-Leader has, too."
        case .notFollowing:
            "Promote a service that was started with --follow, and once."
        case .tooManyProfiles:
            "Try again after the time in Retry-After. At most 8 profiles are taken at once."
        }
    }

    package var path: String { "/problems/\(rawValue)" }

    /// Seconds until the client should try again, for problems that are temporary.
    package var retryAfterSeconds: Int? { status == 429 || status == 503 ? 1 : nil }

    /// The problem's JSON object.
    ///
    /// The detail is for people and about this occurrence; without one it is the advice. It never
    /// contains values from a client, and a name only in the path that it corrects. The extensions
    /// (RFC 9457, section 3.2) are members of their own.
    ///
    /// - Parameters:
    ///   - detail: A sentence.
    ///   - extensions: Further members.
    ///   - leader: The address of the service that takes changes.
    ///   - request: The identifier of the request, if it has a line in the audit log.
    /// - Returns: The text.
    package func json(
        detail: String? = nil,
        extensions: KeyValuePairs<String, Int> = [:],
        leader: String? = nil,
        request: String? = nil
    ) -> [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.member("type", path)
            object.member("title", title)
            object.member("status", status)
            object.member("detail", detail ?? advice)
            for (name, value) in extensions {
                object.member(name, value)
            }
            if let leader { object.member("leader", leader) }
            if let request { object.member("request", request) }
        }
        return json.bytes
    }
}
