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
    package static let badRequest = HTTPStatus(rawValue: 400)
    package static let unauthorized = HTTPStatus(rawValue: 401)
    package static let forbidden = HTTPStatus(rawValue: 403)
    package static let notFound = HTTPStatus(rawValue: 404)
    package static let methodNotAllowed = HTTPStatus(rawValue: 405)
    package static let requestTimeout = HTTPStatus(rawValue: 408)
    package static let conflict = HTTPStatus(rawValue: 409)
    package static let preconditionFailed = HTTPStatus(rawValue: 412)
    package static let contentTooLarge = HTTPStatus(rawValue: 413)
    package static let targetTooLong = HTTPStatus(rawValue: 414)
    package static let unsupportedMediaType = HTTPStatus(rawValue: 415)
    package static let unprocessable = HTTPStatus(rawValue: 422)
    package static let preconditionRequired = HTTPStatus(rawValue: 428)
    package static let tooManyRequests = HTTPStatus(rawValue: 429)
    package static let headTooLarge = HTTPStatus(rawValue: 431)
    package static let internalError = HTTPStatus(rawValue: 500)
    package static let notImplemented = HTTPStatus(rawValue: 501)
    package static let unavailable = HTTPStatus(rawValue: 503)
    package static let insufficientStorage = HTTPStatus(rawValue: 507)
}
