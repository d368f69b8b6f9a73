package import LatchkeyHTTP

/// Is told when a request is answered.
package protocol AnswerWitness: AnyObject, Sendable {
    /// Whether the answer is the one to an earlier request.
    var isRepeat: Bool { get }

    /// The answer is a different one: there is no room for the answer to the earlier request.
    func refused()

    /// The request was answered, or its client has gone.
    func answered()
}

/// Writes the outcomes of the requests of one route and method to the audit log.
package protocol RequestAudit: AnyObject, Sendable {
    /// Adds the lines of a request that is not answered yet.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - status: The status of its answer.
    ///   - fill: Adds the effect of the request.
    func note(
        _ request: ServiceRequest,
        _ status: HTTPStatus,
        _ fill: (inout AuditDetail) -> Void
    )
}
