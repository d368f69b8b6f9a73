import Foundation
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// Requests of operators to a running service: its end without refusals, its state, its version.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct OperatorTests {
    // MARK: --shutdown-delay

    @Test func `in the delay requests are served and readiness says no, until a second signal`()
        async throws
    {
        let program = try Program(["serve", "--port", "0", "--shutdown-delay", "1h"])
        try await offPool {
            let site = Site(port: try program.awaitPort())
            let client = try site.client()
            #expect(try client.request("GET", "/readyz").status == 200)
            program.signal(SIGTERM)
            try eventually("the service is not ready") {
                try site.ask("GET", "/readyz").status == 503
            }
            #expect(try client.request("PUT", "/v1/properties/a", body: [0x31]).status == 201)
            #expect(try site.ask("GET", "/v1/properties/a").text == "1", "also who connects now")
            let why = try site.ask("GET", "/readyz?verbose").text
            #expect(why.contains("The service is shutting down."))
            #expect(try site.ask("GET", "/healthz").status == 200)
            program.signal(SIGHUP)
            program.signal(SIGUSR1)
            try program.awaitErrors(containing: "part=end")
            #expect(
                try site.ask("GET", "/v1/properties/a").text == "1",
                "other signals end nothing"
            )
            let ended = program.endAndFinish()
            #expect(ended.status == 0)
            #expect(ended.errors.contains("draining") && ended.errors.contains("stopped"))
        }
    }

    @Test func `the delay ends by itself, and without one the drain begins at once`() async throws {
        for (delay, isDelayed) in [("1", true), ("0", false)] {
            let program = try Program(["serve", "--port", "0", "--shutdown-delay", delay])
            let ended = try await offPool {
                _ = try program.awaitPort()
                return program.endAndFinish()
            }
            #expect(ended.status == 0)
            #expect(ended.errors.contains("ending") == isDelayed)
        }
    }

    // MARK: SIGUSR1

    private static let parts = [
        "program", "settings", "memory", "connections", "requests", "watches", "store", "history",
        "queues", "operations", "durability", "bounds", "end",
    ]

    @Test(arguments: [[], ["--strategy", "barrier-queue-async", "--log-level", "error"]])
    func `a signal writes each part of the state, and no name or value`(
        flags: [String]
    ) async throws {
        let folder = try TemporaryFolder()
        let serve = [
            "serve", "--port", "0", "--log-format", "json", "--data", folder.path + "/data",
            "--max-properties", "10", "--start-revision", "0",
        ]
        let program = try Program(serve + flags)
        let (text, ended) = try await offPool {
            let site = Site(port: try program.awaitPort())
            let value = "\"secretvalue\""
            #expect(try site.ask("PUT", "/v1/properties/secretname", value).status == 201)
            program.signal(SIGUSR1)
            _ = try program.errors(through: #""part":"end""#)
            program.signal(SIGUSR1)
            return (try program.errors(through: #""part":"end""#), program.endAndFinish())
        }
        #expect(ended.status == 0)
        let lines = text.compactMap { line in
            try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
        }
        #expect(lines.map { $0["part"] } == Self.parts)
        #expect(lines.allSatisfy { $0["event"] == "state" })
        #expect(!text.contains { $0.contains("secret") })
        func part(_ name: String) -> [String: String] {
            lines.first { $0["part"] == name } ?? [:]
        }
        #expect(part("settings")["max-properties"] == "10")
        #expect(part("store")["properties"] == "1" && part("store")["revision"] == "1")
        #expect(part("durability")["durableRevision"] == "1")
        #expect(part("bounds")["max-properties"] == "1/10")
        #expect((part("queues")["fullestBacklog"] == "0") == !flags.isEmpty)
        #expect(part("operations")["executing"] == "0")
        #expect(part("program")["version"]?.hasPrefix(Latchkey.version) == true)
    }

    // MARK: Version

    @Test func `the version is the same everywhere`() async throws {
        let printed = try await Program.result(of: ["--version"]).output
        try await Program.serve { site in
            let answer = try #require(try site.ask("GET", "/version").json as? [String: Any])
            // A served program also has its build after the version.
            let shown = try #require(answer["version"] as? String)
            #expect(shown.hasPrefix(Latchkey.version) && printed.hasPrefix("latchkey \(shown)\n"))
            let build = try #require(answer["build"] as? String)
            #expect(printed.contains("build \(build), "))
            let libraries = try #require(answer["libraries"] as? [String: String])
            #expect(libraries.keys.sorted() == ["gnutls", "libcurl", "libmicrohttpd", "sqlite"])
            for (name, version) in libraries {
                #expect(printed.contains("\(name) \(version)"))
            }
            let labels = #"{version="\#(shown)",build="\#(build)",swift="#
            #expect(try site.ask("GET", "/metrics").text.contains("latchkey_build_info" + labels))
        }
    }
}
