import Foundation
import LatchkeyTestSupport
import Testing

/// The program with the environment of the image.
@Suite(.timeLimit(.minutes(15)))
struct ContainerTests {
    @Test(arguments: [("Dockerfile", 421), ("compose.yaml", 200)])
    func `a container is reached by local names, addresses and the names that it is given`(
        file: String,
        byServiceName: Int
    ) async throws {
        let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let folder = try TemporaryFolder()
        var environment = ["LATCHKEY_PORT": "0", "LATCHKEY_LOG_LEVEL": "error"]
        for name in file == "Dockerfile" ? [file] : ["Dockerfile", file] {
            let text = try String(contentsOf: top.appending(path: name), encoding: .utf8)
            for match in text.matches(of: /(LATCHKEY_[A-Z_]+)(?:=|: )(\S+)/) {
                environment[String(match.1)] = String(match.2)
                    .replacing("/data", with: folder.path)
            }
        }
        // It is for the build.
        environment["LATCHKEY_STRICT"] = nil
        #expect(environment["LATCHKEY_HOST"] == "0.0.0.0")
        let program = try Program(["serve"], environment: environment)
        let port = try await offPool {
            let site = Site(port: try program.awaitPort())
            let token = try String(contentsOfFile: folder.path + "/token", encoding: .utf8)
            for (path, status) in [
                ("/v1/strategies", 401), ("/metrics", byServiceName == 200 ? 200 : 401),
            ] {
                let host = ["Host: localhost"]
                #expect(try Self.ask(site, path, host).status == status)
            }
            for (name, status) in [
                ("localhost:8080", 200), ("127.0.0.1:8080", 200), ("192.0.2.1:8080", 200),
                ("latchkey:8080", byServiceName), ("evil.example:8080", 421),
            ] {
                for path in ["/v1/strategies", "/metrics"] {
                    let fields = ["Host: \(name)", "Authorization: Bearer \(token.dropLast())"]
                    let answer = try Self.ask(site, path, fields)
                    #expect(answer.status == status, "\(name) \(path)")
                }
            }
            return site.port
        }
        // As the health check does it, with LATCHKEY_HOST.
        let flags = ["--host", "0.0.0.0", "--port", "\(port)"]
        let health = try await Program.result(of: ["health"] + flags)
        #expect(health.status == 0)
        #expect(try await offPool { program.end() } == 0)
    }

    /// Asks for a path, with these fields only.
    private static func ask(_ site: Site, _ path: String, _ fields: [String]) throws -> HTTPAnswer {
        let client = try site.client()
        try client.send((["GET \(path) HTTP/1.1"] + fields + ["", ""]).joined(separator: "\r\n"))
        return try client.answer()
    }
}
