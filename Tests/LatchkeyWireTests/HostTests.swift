import Foundation
import LatchkeyService
import LatchkeyTestSupport
import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// The hosts that are served, which limits the pages whose own name leads here (DNS rebinding).
@Suite(.timeLimit(.minutes(15)), .serialized)
struct HostTests {
    /// Sends a request for `target` with these fields, and returns its answer.
    private static func ask(
        _ site: Site,
        _ request: String,
        _ fields: [String]
    ) throws -> HTTPAnswer {
        try site.sending(([request] + fields + ["", ""]).joined(separator: "\r\n")).answer()
    }

    @Test func `on loopback a page of another name gets and changes nothing`() async throws {
        try await Deployment.inProcess.serve { site in
            _ = try site.ask("PUT", "/v1/properties/p", "1")
            let origin = ["Host: evil.example:\(site.port)", "Origin: http://evil.example"]
            let put = ["Content-Length: 1", "", "2"].joined(separator: "\r\n")
            for (request, fields) in [
                ("GET /v1/properties/p HTTP/1.1", origin),
                ("GET / HTTP/1.1", origin),
                ("GET /metrics HTTP/1.1", origin),
                ("OPTIONS * HTTP/1.1", origin),
                ("GET /nowhere HTTP/1.0", origin),
                ("GET http://evil.example/v1/properties/p HTTP/1.1", ["Host: localhost"]),
                ("GET HTTPS://evil.example HTTP/1.1", ["Host: localhost"]),
                ("GET http://evil.example?http://localhost/ HTTP/1.1", ["Host: localhost"]),
                ("DELETE /v1/properties/p HTTP/1.1", ["Host:"]),
                ("DELETE /v1/properties/p HTTP/1.1", ["Host: 192.0.2.1"]),
                ("DELETE /v1/properties/p HTTP/1.1", ["Host: [2001:db8::1]:\(site.port)"]),
                ("DELETE /v1/properties/p HTTP/1.1", origin),
            ] {
                let answer = try Self.ask(site, request, fields)
                #expect(answer.status == 421, "\(request)")
                #expect(answer.problem == "misdirected-request")
            }
            let client = try site.client()
            try client.send(
                "PUT /v1/properties/p HTTP/1.1\r\n\(origin.joined(separator: "\r\n"))\r\n\(put)"
            )
            #expect(try client.answer().status == 421)
            #expect(try client.request("GET", "/v1/properties/p").text == "1", "kept alive")
            #expect(
                try site.ask("GET", "/metrics").text
                    .contains(#"method="PUT",route="none",status="421"} 1"#)
            )
        }
    }

    @Test func `on loopback local names and addresses are served`() async throws {
        try await Deployment.inProcess.serve { site in
            for (request, fields) in [
                ("GET /healthz HTTP/1.1", ["Host: localhost"]),
                ("GET /healthz HTTP/1.1", ["HOST:LocalHost.:\(site.port)"]),
                ("GET /healthz HTTP/1.1", ["Host: app.localhost"]),
                ("GET /healthz HTTP/1.1", ["Host: 127.0.0.1:\(site.port)"]),
                ("GET /healthz HTTP/1.1", ["Host: [::1]:\(site.port)"]),
                ("GET /healthz HTTP/1.1", ["Host: 127.9.9.9"]),
                ("GET /healthz HTTP/1.0", []),
                ("GET http://localhost:1/healthz HTTP/1.1", ["Host: evil.example"]),
                ("GET http://127.0.0.1?x HTTP/1.1", ["Host: localhost"]),
            ] {
                let status = try Self.ask(site, request, fields).status
                #expect(status == (request.contains("?x") ? 400 : 200), "\(request) \(fields)")
            }
        }
    }

    @Test(arguments: [
        (["--allowed-host", "latchkey.internal,db"], [200, 200, 421, 200, 421]),
        (["--allowed-host=*"], [200, 200, 200, 200, 200]),
        (["--host", "0.0.0.0", "--insecure"], [200, 200, 200, 200, 200]),
        (["--host=0.0.0.0", "--insecure", "--allowed-host", "db"], [421, 200, 421, 200, 200]),
        (["--host", "localhost"], [421, 421, 421, 200, 421]),
    ])
    func `a service is reached by the hosts that it names`(
        expected: (flags: [String], statuses: [Int])
    ) async throws {
        try await Deployment.inProcess.serve(expected.flags) { site in
            let names = [
                "latchkey.internal", "DB:8080", "evil.example", "localhost", "192.0.2.1",
            ]
            let statuses = try names.map { name in
                try Self.ask(site, "GET /healthz HTTP/1.1", ["Host: \(name)"]).status
            }
            #expect(statuses == expected.statuses)
        }
    }

    /// The environment of the image, and the one of compose on top of it, as their files have them.
    @Test(arguments: ["db:80", "http://db", "a b", "[::1]"])
    func `a host is named without a port`(name: String) {
        #expect(throws: UsageError.self) {
            try ServeCommand.configuration(["--allowed-host", name])
        }
    }
}
