/// A status code of an answer.
@usableFromInline
package struct HTTPStatus: RawRepresentable, Hashable, Sendable {
    @usableFromInline package let rawValue: UInt16

    @inlinable
    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    package static let ok = HTTPStatus(rawValue: 200)
    package static let created = HTTPStatus(rawValue: 201)
    package static let accepted = HTTPStatus(rawValue: 202)
    package static let noContent = HTTPStatus(rawValue: 204)
    package static let notModified = HTTPStatus(rawValue: 304)
    package static let unavailable = HTTPStatus(rawValue: 503)
}
