public import CLatchkeyHTTP

/// Why a request reached the handler although it must not be served.
///
/// The handler answers it with the status named here, or with a problem of that status. The C
/// header says for each how much of the request is read.
@usableFromInline
package enum Rejection: Sendable, CaseIterable {
    /// Not HTTP/1, or contradicting itself. 400.
    case malformed
    /// A transfer coding other than `chunked`. 501.
    case transferCoding
    /// 414.
    case targetTooLong
    /// Request line and header fields together. 431.
    case headTooLarge
    /// 413.
    case bodyTooLarge
    /// The server has as many connections as it may have. 503.
    case connections
    /// The client's address has as many connections as it may have. 429.
    case connectionsOfAddress
    /// The server is about to end. 503.
    case draining
    /// There was no memory for the request. 503.
    case memory

    @usableFromInline
    init(_ code: latchkey_http_rejection) {
        switch code {
        case LATCHKEY_HTTP_REJECTION_TRANSFER_CODING: self = .transferCoding
        case LATCHKEY_HTTP_REJECTION_TARGET_TOO_LONG: self = .targetTooLong
        case LATCHKEY_HTTP_REJECTION_HEAD_TOO_LARGE: self = .headTooLarge
        case LATCHKEY_HTTP_REJECTION_BODY_TOO_LARGE: self = .bodyTooLarge
        case LATCHKEY_HTTP_REJECTION_CONNECTIONS: self = .connections
        case LATCHKEY_HTTP_REJECTION_ADDRESS_CONNECTIONS: self = .connectionsOfAddress
        case LATCHKEY_HTTP_REJECTION_DRAINING: self = .draining
        case LATCHKEY_HTTP_REJECTION_MEMORY: self = .memory
        default: self = .malformed
        }
    }
}
