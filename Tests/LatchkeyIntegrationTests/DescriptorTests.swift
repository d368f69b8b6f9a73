import Foundation
import LatchkeyTestSupport
import Testing

/// The limit of file descriptors and the bound of connections.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct DescriptorTests {
    private static let modes = [["--http-threads", "2"], ["--thread-per-connection"]]

    @Test(arguments: modes)
    func `a low soft limit is raised to what the bounds need`(flags: [String]) async throws {
        let program = try Program(
            ["serve", "--port", "0", "--max-connections", "300", "--client-share", "1/1"]
                + flags,
            after: "ulimit -Sn 64"
        )
        try await offPool {
            let site = Site(port: try program.awaitPort())
            let clients = try (0..<300).map { _ in try site.client() }
            for client in clients {
                #expect(try client.request("GET", "/readyz").status == 200)
            }
            let refused = try site.ask("GET", "/v1/properties")
            #expect(refused.problem == "too-many-connections")
        }
        #expect(try await offPool { program.end() } == 0)
    }

    @Test(arguments: modes)
    func `bounds over a hard limit are refused with a sentence`(flags: [String]) async throws {
        let serve = ["serve", "--port", "0", "--log-format", "json"] + flags
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
        try await offPool {
            let site = Site(port: try program.awaitPort())
            let clients = try (0..<count).map { _ in try site.client() }
            for client in clients {
                #expect(try client.request("GET", "/readyz").status == 200)
            }
            #expect(try site.ask("GET", "/v1/properties").problem == "too-many-connections")
        }
        #expect(try await offPool { program.end() } == 0)
    }

    @Test(arguments: modes)
    func `operations that fetch leave descriptors for connections and probes`(
        flags: [String]
    ) async throws {
        let operationCount = 64
        let silent = try SilentListener()
        let serve =
            [
                "serve", "--port", "0", "--max-connections", "16", "--allow-fetch",
                "127.0.0.1:\(silent.port)",
            ] + flags
        let limits = "operation-threads=\(operationCount)"
        let refused = try await Program.result(of: serve, limits: limits, after: "ulimit -n 64")
        let needed = try #require(refused.errors.firstMatch(of: /needs (\d+) file/)?.1)
        let count = try #require(Int(needed))
        let short = try await Program.result(
            of: serve,
            limits: limits,
            after: "ulimit -n \(count - 1)"
        )
        #expect(short.status == 1 && short.errors.contains("needs \(count) file"))
        let program = try Program(serve, limits: limits, after: "ulimit -n \(count)")
        try await offPool {
            let site = Site(port: try program.awaitPort())
            let body = #"{"steps":[{"fetch":"http://127.0.0.1:\#(silent.port)/"}]}"#
            // On one connection: those of one address are few, and a closed one is seen later.
            let poster = try site.client()
            for _ in 0..<operationCount {
                let answer = try poster.request("POST", "/v1/operations", body: Array(body.utf8))
                #expect(answer.status == 202, "\(answer.text)")
            }
            silent.take(operationCount)
            let clients = try (0..<8).map { _ in try site.client() }
            for client in clients {
                #expect(try client.request("GET", "/readyz").status == 200)
            }
            #expect(try site.ask("GET", "/healthz").status == 200)
            withExtendedLifetime(clients) {}
        }
        silent.end()
        _ = try await offPool { program.end() }
    }

    @Test(arguments: modes)
    func `a limit that fits no connection names no number`(flags: [String]) async throws {
        let result = try await Program.result(
            of: ["serve", "--port", "0", "--max-connections", "8"] + flags,
            after: "ulimit -n 64"
        )
        #expect(result.status == 1)
        #expect(result.errors.contains("raise it\"\n"), "\(result.errors)")
    }
}

/// Takes connections and says nothing.
///
/// SAFETY: `@unchecked Sendable` because one test uses it, one call after the other.
private final class SilentListener: @unchecked Sendable {
    let port: UInt16
    private var descriptors: [Int32] = []

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(listener, address, length) == 0 && listen(listener, 128) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
        descriptors = [listener]
    }

    /// Waits for so many connections, and keeps them.
    func take(_ count: Int) {
        for _ in 0..<count {
            descriptors.append(accept(descriptors[0], nil, nil))
        }
    }

    func end() {
        for descriptor in descriptors {
            close(descriptor)
        }
    }
}
