package import LatchkeyHTTP

/// Is told when a request is answered.
package protocol AnswerWitness: AnyObject, Sendable {
    /// Whether the answer is that to an earlier request.
    var isRepeat: Bool { get }

    /// The answer is another one: there is no room for that to the earlier request.
    func refused()

    /// The request was answered, or its client has gone.
    func answered()
}

/// Writes what became of the requests of one route and method to the audit log.
package protocol RequestAudit: AnyObject, Sendable {
    /// Adds the lines of a request that is not answered yet.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - status: Of its answer.
    ///   - fill: Says what the request did.
    func note(
        _ request: ServiceRequest,
        _ status: HTTPStatus,
        _ fill: (inout AuditDetail) -> Void
    )
}
