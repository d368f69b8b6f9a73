internal import LatchkeyAccess
internal import LatchkeyFrame

/// What requests pass on the way to a handler, and their answers on the way back.
struct RequestParts {
    var table: RouteTable
    /// Nil if `Idempotency-Key` is switched off.
    let repetition: Repetition?
    /// Nil if the service asks for no tokens.
    let access: AccessControl?
    /// Nil without an audit log.
    let audit: AuditLog?
}
