/// A request method that a route can have, or ``other``.
@usableFromInline
package enum HTTPMethod: UInt8, CaseIterable, Sendable {
    case get
    case head
    case put
    case post
    case patch
    case delete
    case options
    case other

    /// Methods are case-sensitive (RFC 9110, 9.1).
    @inlinable
    init(_ bytes: Bytes) {
        self = .other
        switch bytes.count {
        case 3:
            if bytes == Bytes("GET") {
                self = .get
            } else if bytes == Bytes("PUT") {
                self = .put
            }
        case 4:
            if bytes == Bytes("HEAD") {
                self = .head
            } else if bytes == Bytes("POST") {
                self = .post
            }
        case 5:
            if bytes == Bytes("PATCH") { self = .patch }
        case 6:
            if bytes == Bytes("DELETE") { self = .delete }
        case 7:
            if bytes == Bytes("OPTIONS") { self = .options }
        default:
            break
        }
    }

    /// As it stands in a request; for labels and logs, ``other`` has a name too.
    package var name: StaticString {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .put: "PUT"
        case .post: "POST"
        case .patch: "PATCH"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .other: "other"
        }
    }
}
