package import LatchkeyHTTP

/// Sees the answer of a request, and can keep it for repeats of the request.
package protocol AnswerWitness: AnyObject, Sendable {
    /// Whether the answer is that to an earlier request.
    var isRepeat: Bool { get }

    /// Whether an answer is one to keep, and there is room for its body.
    ///
    /// - Parameters:
    ///   - status: Of the answer.
    ///   - byteCount: The length of its body.
    /// - Returns: Whether ``keep(_:fields:body:)`` needs the body.
    func keeps(_ status: HTTPStatus, _ byteCount: Int) -> Bool

    /// Keeps the answer, if it is one to keep.
    ///
    /// - Parameters:
    ///   - status: Of the answer.
    ///   - fields: Its header fields; nil if it could not be made.
    ///   - body: Its body; nil if there is no room for it.
    func keep(_ status: HTTPStatus, fields: [ResponseField]?, body: [UInt8]?)
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
