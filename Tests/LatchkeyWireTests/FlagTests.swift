import LatchkeyTestSupport
import Testing

/// The protocol of OpenFeature, beside what its own client tries in Tests/contract/flags.py.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct FlagTests {
    private static let path = "/ofrep/v1/evaluate/flags"

    @Test(arguments: Deployment.allCases)
    func `flags are evaluated, one by one and all`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            for (name, value) in [("on", "true"), ("text", "\"red\"")] {
                #expect(try site.ask("PUT", "/v1/properties/flags%2F\(name)", value).status == 201)
            }
            let one = try site.ask("POST", "\(Self.path)/on", "{\"context\":{}}")
            let flag = try #require(one.json as? [String: Any])
            #expect(one.status == 200)
            #expect((flag["key"] as? String, flag["value"] as? Bool) == ("on", true))
            let none = try site.ask("POST", "\(Self.path)/none", "{}")
            #expect(none.status == 404 && none.text.contains("FLAG_NOT_FOUND"))
            let all = try site.ask("POST", Self.path, "{}")
            let flags = try #require((all.json as? [String: Any])?["flags"] as? [[String: Any]])
            #expect(flags.map { $0["key"] as? String } == ["on", "text"])
            let tag = ["If-None-Match: \(try #require(all.headers["etag"]))"]
            #expect(try site.ask("POST", Self.path, "{}", headers: tag).status == 304)
        }
    }

    @Test func `more flags than one answer has are refused, and each is evaluated`() async throws {
        try await Deployment.inProcess.serve { site in
            for first in stride(from: 0, to: 1000, by: 100) {
                let steps = (first..<first + 100)
                    .map { #"{"put":"flags/\#($0)","value":\#($0)}"# }
                    .joined(separator: ",")
                let answer = try site.ask("POST", "/v1/transactions", #"{"then":[\#(steps)]}"#)
                #expect(answer.status == 200)
            }
            #expect(try site.ask("POST", Self.path, "{}").status == 200)
            #expect(try site.ask("PUT", "/v1/properties/flags%2Fmore", "1").status == 201)
            let all = try site.ask("POST", Self.path, "{}")
            #expect(all.status == 400 && all.text.contains("more than 1000 flags"))
            #expect(try site.ask("POST", "\(Self.path)/999", "{}").text.contains(":999"))
        }
    }
}
