import Foundation
import LatchkeyTestSupport
import Testing

/// The limits of file descriptors and of connections.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct DescriptorTests {
    /// Checks that a service takes this many connections, and no more.
    private func serves(_ program: Program, _ count: Int) async throws {
        try await offPool {
            let site = Site(port: try program.awaitPort())
            let clients = try (0..<count).map { _ in try site.client() }
            for client in clients {
                #expect(try client.request("GET", "/readyz").status == 200)
            }
            #expect(try site.ask("GET", "/v1/properties").problem == "too-many-connections")
            #expect(program.end() == 0)
        }
    }

    @Test func `a low soft limit is raised to what the bounds need`() async throws {
        let program = try Program(
            ["serve", "--port", "0", "--max-connections", "300", "--client-share", "1/1"],
            after: "ulimit -Sn 64"
        )
        try await serves(program, 300)
    }

    @Test func `bounds over a hard limit are refused with a sentence`() async throws {
        let serve = ["serve", "--port", "0", "--log-format", "json"]
        let result = try await Program.result(of: serve, after: "ulimit -n 400")
        #expect(result.status == 1)
        #expect(result.output.isEmpty)
        let line = try JSONSerialization.jsonObject(with: Data(result.errors.utf8))
        let reason = try #require((line as? [String: String])?["reason"])
        let expected =
            /--max-connections 1024 needs \d+ .*, and the limit \(ulimit -Hn\) is 400: .* (\d+)/
        #expect(reason.contains("(16 for 2 operations at once)"))
        let fitting = try #require(try expected.wholeMatch(in: reason)?.1, "\(reason)")
        let count = try #require(Int(fitting))
        let program = try Program(
            serve + ["--max-connections", "\(count)", "--client-share", "1/1"],
            after: "ulimit -n 400"
        )
        try await serves(program, count)
    }
}
