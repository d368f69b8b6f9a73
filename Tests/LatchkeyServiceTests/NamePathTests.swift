import LatchkeyHTTP
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

/// The text of a 404 for a path whose name has a slash.
struct NamePathTests {
    private let names = NamePath([
        Route(.get, "/v1/properties/{name}") { _, _ in },
        Route(.post, "/v1/properties/{name}/increment") { _, _ in },
        Route(.post, "/v1/other/{name}/reset") { _, _ in },
    ])

    private func correction(_ method: HTTPMethod, _ path: String) -> String? {
        unsafe Array(path.utf8).withUnsafeBufferPointer {
            names.correction(method, unsafe Bytes($0))
        }
    }

    @Test(arguments: [
        (HTTPMethod.get, "a/b", "a%2Fb"), (.put, "a/b/c", "a%2Fb%2Fc"), (.get, "a/", "a%2F"),
        (.get, "/a", "%2Fa"), (.get, "a//b", "a%2F%2Fb"), (.put, "%C3%A4/b%2Fc", "%C3%A4%2Fb%2Fc"),
        (.post, "a/b/increment", "a%2Fb/increment"), (.get, "a/b/increment", "a%2Fb%2Fincrement"),
        (.post, "a/reset", "a%2Freset"), (.other, "a/b", "a%2Fb"),
        (.post, "/increment", "%2Fincrement"),
    ])
    func `slashes of a name are escaped, and that in front of an action is not`(
        method: HTTPMethod,
        rest: String,
        right: String
    ) {
        let sentence = correction(method, "/v1/properties/" + rest)
        #expect(sentence == "A / in a name is written %2F: /v1/properties/" + right)
    }

    @Test(arguments: [
        "/v1/properties/", "/v1/properties", "/v1/properties/a", "/v1/propertiesa/b", "/a/b", "/",
        "",
        "/v1/other/a/b",
    ])
    func `another path has no correction`(path: String) {
        #expect(correction(.get, path) == nil)
    }

    @Test(arguments: [
        "a/<b>", "a/\"", "a/\\", "ä/b", "a/b c", "a/" + String(repeating: "b", count: 1024),
    ])
    func `a path that could be taken for something else is not repeated`(rest: String) {
        let sentence = correction(.get, "/v1/properties/" + rest)
        #expect(sentence == "A / in a name is written %2F in the path.")
    }
}
