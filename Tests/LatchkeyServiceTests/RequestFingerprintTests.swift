import LatchkeyHTTP
import Testing

@testable import LatchkeyService

/// Fingerprints, which tell a repeat from another request.
struct RequestFingerprintTests {
    @Test func `a fingerprint tells methods, targets and bodies apart`() {
        let requests: [(StaticString, StaticString, StaticString, StaticString)] = [
            ("PUT", "/a", "", "1"), ("DELETE", "/a", "", "1"), ("PUT", "/b", "", "1"),
            ("PUT", "/a", "x", "1"), ("PUT", "/a", "", "2"), ("PUT", "/a", "1", ""),
            ("PUT", "/", "a", "1"), ("PUT/", "a", "", "1"),
        ]
        let prints = requests.map {
            RequestFingerprint(
                method: Bytes($0.0),
                path: Bytes($0.1),
                query: Bytes($0.2),
                body: Bytes($0.3)
            )
        }
        #expect(Set(prints).count == requests.count)
        #expect(Self.print(query: "PUT 1") == Self.print(query: "PUT 1"))
    }

    @Test(
        arguments: [
            ("wait=1", ""), ("wait=1", "wait=60"), ("prefix=a&wait=1", "prefix=a"),
            ("wait=1&prefix=a", "prefix=a"), ("a=1&wait=1&b=2", "a=1&b=2&wait=9"),
        ] as [(StaticString, StaticString)]
    )
    func `a fingerprint is the same for another wait`(query: StaticString, other: StaticString) {
        #expect(Self.print(query: query) == Self.print(query: other))
    }

    @Test(
        arguments: [
            ("wait=1", "await=1"), ("wait", ""), ("prefix=wait=1", "prefix="),
            ("a=1&b=2", "b=2&a=1"),
            ("a&wait=1&b", "ab"), ("waits=1", ""),
        ] as [(StaticString, StaticString)]
    )
    func `a fingerprint tells other queries apart`(query: StaticString, other: StaticString) {
        #expect(Self.print(query: query) != Self.print(query: other))
    }

    private static func print(query: StaticString) -> RequestFingerprint {
        RequestFingerprint(
            method: Bytes("POST"),
            path: Bytes("/v1/pop"),
            query: Bytes(query),
            body: Bytes("")
        )
    }
}
