import Foundation
import LatchkeyClient
import LatchkeyTestSupport
import Testing

/// Requests: targets, fields, bodies.
struct RequestTests {
    @Test(arguments: 0..<20)
    func `a name comes back from its place in a path`(seed: UInt64) {
        var random = SeededGenerator(seed)
        for _ in 0..<50 {
            let name = random.text()
            let encoded = PercentEncoding.encoded(name)
            #expect(encoded.removingPercentEncoding == name)
            let allowed = Set("%-._~").union("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
                .union("abcdefghijklmnopqrstuvwxyz0123456789")
            #expect(encoded.allSatisfy(allowed.contains))
        }
    }

    @Test func `a target has its parameters in order, and those without a value not`() {
        var request = ClientRequest(.get, "/v1/watch")
        request.add("prefix", "a/&b")
        request.add("after", nil)
        request.add("name", "ü")
        #expect(request.target == "/v1/watch?prefix=a%2F%26b&name=%C3%BC")
        let touch = ClientRequest(.post, property: "a/b", "touch")
        #expect(touch.target == "/v1/properties/a%2Fb/touch")
    }

    @Test func `only requests that do no harm are repeated`() {
        #expect(ClientRequest(.get, "/").isRepeatable)
        var request = ClientRequest(.post, property: "a", "increment")
        #expect(!request.isRepeatable)
        #expect(request.fields == ["Content-Type:"])
        request.makeRepeatable("key")
        #expect(request.isRepeatable)
        request.send(.bytes([0x31]), type: "application/json")
        #expect(request.fields == ["Idempotency-Key: key", "Content-Type: application/json"])
    }

    @Test func `keys are of 32 digits, and differ`() {
        let keys = (0..<100).map { _ in RandomKey.make() }
        #expect(Set(keys).count == 100)
        #expect(keys.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }

    @Test(arguments: [
        ("127.0.0.1:80", "http://127.0.0.1:80"), ("https://a.example/", "https://a.example"),
        ("http://[::1]:8080", "http://[::1]:8080"), ("localhost", "http://localhost"),
    ])
    func `an address has a scheme, a host and maybe a port`(text: String, origin: String) {
        #expect(ServiceAddress(text)?.origin == origin)
    }

    @Test(arguments: [
        "", "http://", "ftp://a", "http://a/b", "http://a?b", "http://user@a", "http://a:99999",
        "http://a b", "a#b", "http://a\r\nb",
    ])
    func `another text is no address`(text: String) {
        #expect(ServiceAddress(text) == nil)
    }
}

extension SeededGenerator {
    /// Characters of one to four bytes, without controls.
    mutating func text(_ counts: ClosedRange<Int> = 0...20) -> String {
        let characters = Array("aZ09-._~/%+ \"\\&=?#ü€😀\u{301}:,{}[]")
        return String(
            (0..<Int.random(in: counts, using: &self)).map { _ in
                characters.randomElement(using: &self) ?? "a"
            }
        )
    }
}
