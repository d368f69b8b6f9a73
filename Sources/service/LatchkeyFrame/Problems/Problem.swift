internal import LatchkeyJSON
internal import LatchkeyStore

/// The problem details that answer a request (RFC 9457): status, title, and the text of the page at
/// `type`.
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
    case noBackup = "no-backup"
    case backupFailed = "backup-failed"
    case notLevel = "not-level"
    case switchUnderWay = "switch-under-way"
    case strategyNotAvailable = "strategy-not-available"

    package var status: Int {
        switch self {
        case .malformedJSON, .tooDeep, .invalidBody, .invalidName, .invalidQuery,
            .invalidCondition, .invalidTarget, .partialPut, .malformedRequest,
            .invalidIdempotencyKey:
            400
        case .unauthorized: 401
        case .crossSiteRequest, .forbidden: 403
        case .notFound, .noRoute, .operationNotFound, .profilingOff: 404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .notAnInteger, .overflow, .operationExists, .dependencyCycle, .notFollowing,
            .switchUnderWay:
            409
        case .gone: 410
        case .preconditionFailed: 412
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .unsupportedMediaType: 415
        case .misdirectedRequest, .notLeader: 421
        case .valueTooLarge, .transactionTooLarge, .idempotencyKeyReused: 422
        case .tooManyConnectionsPerAddress, .clientShareTaken, .rateExceeded: 429
        case .headersTooLarge: 431
        case .outcomeUnknown, .answerNotKept: 500
        case .unsupportedTransferCoding: 501
        case .tooManyConnections, .outOfMemory, .backlogFull, .timedOut, .draining, .recovering,
            .journalFailed, .tooManyIdempotencyKeys, .tooManyWatchers, .notLevel:
            503
        case .storeFull, .quotaExceeded, .diskFull: 507
        case .invalidLine, .incompleteImport: 400
        case .unknownDependency, .fetchNotAllowed, .compareNotAvailable, .strategyNotAvailable:
            422
        case .dependencyFailed: 424
        case .compareFailed: 500
        case .fetchFailed: 502
        case .tooManyOperations, .tooManyExports, .tooManyAnswers, .tooManyProfiles: 503
        case .noBackup: 404
        case .backupFailed: 500
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
        case .noBackup: "The service keeps no data."
        case .backupFailed: "The backup was not made."
        case .notLevel: "The service does not have the state that the read asks for."
        case .switchUnderWay: "The strategy is being switched."
        case .strategyNotAvailable: "The service cannot switch to this strategy."
        case .valueTooLarge: "The value would be too large."
        case .transactionTooLarge: "The change is too much work."
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
        case .journalFailed: "The server cannot write its data, or etcd does not answer."
        case .diskFull: "The disk of the server, or etcd, is full."
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

    package var path: String { "/problems/\(rawValue)" }

    /// Seconds until the client should try again, for problems that are temporary.
    package var retryAfterSeconds: Int? { status == 429 || status == 503 ? 1 : nil }

    /// The problem's JSON object.
    ///
    /// The detail is for people and about this occurrence; without one it is the advice. It repeats
    /// only short names that a client has sent, without control characters, and no values. The
    /// extensions (RFC 9457, section 3.2) are members of their own.
    ///
    /// - Parameters:
    ///   - status: A status other than that of the problem.
    ///   - detail: A sentence.
    ///   - extensions: Further members.
    ///   - leader: The address of the service that takes changes.
    ///   - request: The identifier of the request.
    /// - Returns: The text.
    package func json(
        status: Int? = nil,
        detail: String? = nil,
        extensions: KeyValuePairs<String, Int> = [:],
        leader: String? = nil,
        request: String? = nil
    ) -> [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.member("type", path)
            object.member("title", title)
            object.member("status", status ?? self.status)
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
