import Foundation
import LatchkeyTestSupport
import Testing

/// The right to ask for the version, and the identifier of a request.
@Suite(.timeLimit(.minutes(15)))
struct VersionTests {
    @Test func `the version needs a token, unless it is opened`() async throws {
        let tokens = try Tokens(["ci": ["read:x"]])
        let shown = tokens.headers("ci")
        for (flags, target, headers, status) in [
            (tokens.flags, "/version", [], 401), (tokens.flags, "/version", shown, 200),
            (tokens.flags + ["--open", "version"], "/version", [], 200),
            (tokens.flags + ["--open", "version"], "/readyz", [], 401), ([], "/version", [], 200),
        ] {
            try await Deployment.inProcess.serve(flags) { site in
                let answer = try site.ask("GET", target, headers: headers)
                #expect(answer.status == status, "\(flags) \(target)")
            }
        }
    }

    @Test func `a problem has the identifier of its line in the audit log`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/audit.log"
        try await Deployment.inProcess.serve(["--audit-log", path]) { site in
            let key = ["Idempotency-Key: k", "If-Match: \"9\""]
            let refused = [
                try site.ask("PUT", "/v1/properties/a", "x"),
                try site.ask("DELETE", "/v1/properties/a"),
                try site.ask("PUT", "/v1/properties/a", "1", headers: key),
                try site.ask("GET", "/v1/properties/a", headers: ["Origin: http://evil.example"]),
            ]
            for answer in refused {
                let identifier = (answer.json as? [String: Any])?["request"] as? String
                #expect(answer.status >= 400 && identifier?.count == 20)
                #expect(identifier == answer.headers["latchkey-request-id"])
                try site.awaitLine("\"request\":\"\(identifier ?? "none")\"", in: path)
            }
            let again = try site.ask("PUT", "/v1/properties/a", "1", headers: key)
            #expect(again.headers["idempotency-replayed"] == "true")
            let identifier = (again.json as? [String: Any])?["request"] as? String
            #expect(identifier == again.headers["latchkey-request-id"], "its own")
        }
    }

    @Test func `each answer has an identifier of its own, also without an audit log`() async throws
    {
        try await Deployment.inProcess.serve { site in
            let tag = ["If-None-Match: *"]
            let answers = [
                try site.ask("PUT", "/v1/properties/a", "1"),
                try site.ask("GET", "/v1/properties/a"),
                try site.ask("HEAD", "/v1/properties/a"),
                try site.ask("GET", "/v1/properties/a", headers: tag),
                try site.ask("GET", "/v1/properties/none"), try site.ask("GET", "/nowhere"),
                try site.ask("POST", "/v1/properties/a", "1"),
                try site.ask("OPTIONS", "/v1/properties"),
                try site.ask("GET", "/v1/export"), try site.ask("GET", "/"),
                try site.ask("GET", "/healthz"),
                try site.ask("GET", "/v1/properties/a", headers: ["Host: evil.example"]),
            ]
            let found = answers.compactMap { $0.headers["latchkey-request-id"] }
            #expect(Set(found).count == answers.count && found.allSatisfy { $0.count == 20 })
            for answer in answers where answer.status >= 400 {
                let identifier = (answer.json as? [String: Any])?["request"] as? String
                #expect(identifier == answer.headers["latchkey-request-id"])
            }
        }
    }
}

extension Site {
    /// Waits until a file has a text.
    fileprivate func awaitLine(_ text: String, in path: String) throws {
        try eventually("\(path) has \(text)") {
            try String(contentsOfFile: path, encoding: .utf8).contains(text)
        }
    }
}
