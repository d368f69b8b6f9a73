import LatchkeyHTTP
import Testing

@Suite struct RouterTests {
    private static func router(
        _ table: [(HTTPMethod, String)]
    ) throws(RouteTableError) -> Router {
        try Router(table.map { Route($0.0, $0.1) { _, _ in } }) { _, _ in }
    }

    private let router: Router

    init() throws {
        router = try RouterTests.router([
            (.get, "/v1/properties/{name}"),
            (.put, "/v1/properties/{name}"),
            (.delete, "/v1/properties/{name}"),
            (.post, "/v1/properties/{name}/increment"),
            (.get, "/v1/properties"),
            (.get, "/v1/contention"),
            (.post, "/v1/contention/reset"),
            (.get, "/"),
        ])
    }

    private func resolve(_ method: HTTPMethod, _ path: StaticString) -> Router.Resolution {
        router.resolve(method, Bytes(path))
    }

    @Test func `a request goes to the route of its method and path`() {
        #expect(resolve(.get, "/v1/properties/a") == .route(0, capture: Bytes("a")))
        #expect(resolve(.put, "/v1/properties/a") == .route(1, capture: Bytes("a")))
        #expect(resolve(.delete, "/v1/properties/a") == .route(2, capture: Bytes("a")))
        #expect(resolve(.post, "/v1/properties/a/increment") == .route(3, capture: Bytes("a")))
        #expect(resolve(.get, "/v1/properties") == .route(4, capture: Bytes("")))
        #expect(resolve(.get, "/v1/contention") == .route(5, capture: Bytes("")))
        #expect(resolve(.post, "/v1/contention/reset") == .route(6, capture: Bytes("")))
        #expect(resolve(.get, "/") == .route(7, capture: Bytes("")))
    }

    @Test func `a captured segment is what was sent`() {
        #expect(resolve(.get, "/v1/properties/a%2Fb") == .route(0, capture: Bytes("a%2Fb")))
        #expect(resolve(.get, "/v1/properties/..") == .route(0, capture: Bytes("..")))
        #expect(resolve(.get, "/v1/properties/%zz") == .route(0, capture: Bytes("%zz")))
        #expect(resolve(.get, "/v1/properties/a;b=c") == .route(0, capture: Bytes("a;b=c")))
        #expect(
            resolve(.get, "/v1/properties/increment") == .route(0, capture: Bytes("increment"))
        )
    }

    @Test(arguments: [
        "", "*", "v1/properties", "//", "/v1", "/v1/", "/v1/properties/", "/v1//properties/a",
        "/v1/properties//increment", "/v1/properties/a/", "/v1/properties/a/increment/",
        "/v1/properties/a/b", "/V1/properties/a", "/v1/%70roperties/a", "/v1/propertie",
        "/v1/propertiess", "/v1/properties/a/increment/x", "/v1/../v1/properties",
    ])
    func `a path that no route has is not found`(path: StaticStringArgument) {
        #expect(router.resolve(.get, Bytes(path.value)) == .notFound)
        #expect(router.resolve(.other, Bytes(path.value)) == .notFound)
        if "\(path.value)" != "*" {
            #expect(router.resolve(.options, Bytes(path.value)) == .notFound)
        }
    }

    @Test func `HEAD follows GET`() {
        #expect(resolve(.head, "/v1/properties/a") == .route(0, capture: Bytes("a")))
        #expect(
            resolve(.head, "/v1/contention/reset") == .methodNotAllowed(allow: "POST, OPTIONS")
        )
    }

    @Test func `a path without the method says which it has`() {
        let allow = "GET, HEAD, PUT, DELETE, OPTIONS"
        #expect(resolve(.post, "/v1/properties/a") == .methodNotAllowed(allow: allow))
        #expect(resolve(.other, "/v1/properties/a") == .methodNotAllowed(allow: allow))
        #expect(resolve(.options, "/v1/properties/a") == .options(allow: allow))
    }

    @Test func `OPTIONS of everything says what some path has`() {
        #expect(
            resolve(.options, "*") == .options(allow: "GET, HEAD, PUT, POST, DELETE, OPTIONS")
        )
    }

    @Test(arguments: [
        "", "a", "a/b", "//", "/a//b", "/a/", "/{}x", "/{a", "/a}", "/a{b}", "/{a}/{b}", "/ä",
        "/a b", "/%41", "/{a}{b}", "/a\u{7}",
    ])
    func `a pattern must be segments`(pattern: String) {
        #expect(throws: RouteTableError.badPattern(pattern)) {
            try RouterTests.router([(.get, pattern)])
        }
    }

    @Test func `a table with a contradiction is an error`() {
        #expect(throws: RouteTableError.duplicate("/a/{y}")) {
            try RouterTests.router([(.get, "/a/{x}"), (.get, "/a/{y}")])
        }
        #expect(throws: RouteTableError.ambiguous("/a/b")) {
            try RouterTests.router([(.get, "/a/{x}"), (.put, "/a/b")])
        }
        #expect(throws: RouteTableError.ambiguous("/{x}")) {
            try RouterTests.router([(.get, "/a"), (.put, "/{x}")])
        }
        for method in [HTTPMethod.head, .options, .other] {
            #expect(throws: RouteTableError.badMethod("/a")) {
                try RouterTests.router([(method, "/a")])
            }
        }
    }
}
