/// A route as data: the requests that match it, and the handler that answers them.
package struct Route: Sendable {
    package typealias Handler = @Sendable (Exchange, RouteMatch) -> Void

    package let method: HTTPMethod
    /// Such as `/v1/properties/{name}/increment`: segments of literal ASCII, at most one of them a
    /// name in braces, which stands for any segment that is not empty.
    package let pattern: String
    /// Whether it also answers on connections over a limit.
    package let servesRefused: Bool
    /// Called at the head of a request with a body: see ``HTTPServer/init(_:log:head:handle:)``.
    ///
    /// May answer, limit the body, or give it a ``BodyReader``.
    package let checkHead: Handler?
    package let handle: Handler

    package init(
        _ method: HTTPMethod,
        _ pattern: String,
        servesRefused: Bool = false,
        checkHead: Handler? = nil,
        handle: @escaping Handler
    ) {
        self.method = method
        self.pattern = pattern
        self.servesRefused = servesRefused
        self.checkHead = checkHead
        self.handle = handle
    }
}

/// The parts of the path that a route's handler gets.
@usableFromInline
package struct RouteMatch: Sendable {
    /// The route's index in the table that the router was made from.
    @usableFromInline package let route: Int
    /// The method of the request: `head` for a HEAD that a GET route answers.
    @usableFromInline package let method: HTTPMethod
    /// The segment that the name in braces stands for, as it was sent, or no bytes.
    @usableFromInline package let capture: Bytes

    @inlinable
    init(route: Int, method: HTTPMethod, capture: Bytes) {
        self.route = route
        self.method = method
        self.capture = capture
    }
}

extension RouteMatch {
    private static let noteBits: UInt64 = 24

    /// The match as a number other than 0: the index of the route plus one, and the place of the
    /// captured segment in the path.
    ///
    /// A target is at most 1 MiB long.
    func note(in path: Bytes) -> UInt64 {
        let start = capture.count == 0 ? 0 : capture.offset(in: path)
        let route = UInt64(route + 1) << (2 * Self.noteBits)
        return route | UInt64(start) << Self.noteBits | UInt64(capture.count)
    }

    /// The match that a note stands for; nil if it is 0.
    init?(note: UInt64, _ exchange: Exchange) {
        guard note != 0 else { return nil }
        let mask = (UInt64(1) << Self.noteBits) - 1
        let start = Int(note >> Self.noteBits & mask)
        self.init(
            route: Int(note >> (2 * Self.noteBits)) - 1,
            method: exchange.method,
            capture: exchange.path.range(start, start + Int(note & mask))
        )
    }
}

/// Why no route was called.
package enum Unmatched: Sendable {
    /// The request must not be served at all.
    case rejected(Rejection)
    /// The request is for a host that is not served here.
    case misdirected
    /// A page of another origin has a browser send the request: see ``AllowedOrigins``.
    case crossSite
    /// No route has this path.
    case notFound
    /// Routes have this path, but none this method. `allow` is the value of the `Allow` field.
    case methodNotAllowed(allow: String)
    /// An OPTIONS request for a path that has routes, or for `*`, which stands for all of them.
    /// `allow` is the value of the `Allow` field.
    case options(allow: String)
}

/// An error in a table of routes: a programmer's error, found at start.
package enum RouteTableError: Error, Equatable, Sendable {
    /// The pattern is not `/` and segments of literal ASCII or one name in braces.
    case badPattern(String)
    /// `other` and `options` cannot be routed, and HEAD follows GET.
    case badMethod(String)
    /// Two routes have the same method and, but for the name in braces, the same pattern.
    case duplicate(String)
    /// A literal segment and a name in braces stand in the same place. One path could be both.
    case ambiguous(String)
    /// More than 32767.
    case tooManyRoutes
}
