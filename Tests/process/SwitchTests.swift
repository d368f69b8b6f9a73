import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

/// `latchkey switch`, and a restart after it.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct SwitchTests {
    private static func run(
        _ port: UInt16,
        _ arguments: String...,
        token: String? = nil
    ) throws -> (status: Int32, output: String, errors: String) {
        var environment = ["LATCHKEY_URL": "http://127.0.0.1:\(port)"]
        environment["LATCHKEY_TOKEN"] = token
        return try Program(["switch"] + arguments, environment: environment).finish()
    }

    @Test func `a service is switched through all strategies under writes`() async throws {
        try await Program.serve(["--stripes", "1"]) { site in
            let made = Arrivals()
            let isOver = Atomic(false)
            let writer = TestThread {
                guard let client = try? site.client() else { return }
                while !isOver.load(ordering: .relaxed) {
                    let counter = "/v1/properties/n/increment"
                    guard (try? client.request("POST", counter))?.status == 200 else { return }
                    made.arrive()
                }
            }
            var former = "lock"
            for kind in StrategyKind.allCases {
                let name = kind.rawValue
                let result = try Self.run(site.port, name)
                #expect(result.status == 0, "\(result.errors)")
                let start = former == name ? "\(name) serves" : "from \(former) to \(name) in "
                #expect(result.output.hasPrefix(start), "\(result.output)")
                #expect(made.wait(for: made.value + 20), "\(name) serves")
                former = name
            }
            let again = try Self.run(site.port, former)
            #expect(again.output == "\(former) serves already\n")
            let json = try Self.run(site.port, "lock", "--json").output
            #expect(json.hasPrefix(#"{"from":"\#(former)","to":"lock","seconds":"#), "\(json)")
            isOver.store(true, ordering: .relaxed)
            #expect(writer.join())
            #expect(try site.ask("GET", "/v1/properties/n").text == "\(made.value)")
        }
    }

    @Test func `a refused switch is a sentence and a status`() async throws {
        let unknown = try await Program.result(of: ["switch", "spni"])
        #expect(unknown.status == 2)
        #expect(unknown.errors.contains("'latchkey switch' takes one of serial-queue, "))
        #expect(unknown.errors.contains("not 'spni'. Did you mean 'spin'?\n"))
        let none = try await Program.result(of: ["switch"])
        #expect(none.status == 2 && none.errors.contains("needs the name of a strategy."))
        let tokens = try Tokens(["see": ["read"], "boss": ["admin"]])
        try await Program.serve(tokens.flags) { site in
            let refused = try Self.run(site.port, "spin", token: tokens["see"])
            #expect(refused.status == 5 && refused.errors.contains("admin"))
            let actor = try Self.run(site.port, "actor", token: tokens["boss"])
            #expect(actor.status == 1, "nothing was changed")
            #expect(actor.errors.contains("--stripes 1"), "\(actor.errors)")
            #expect(actor.output.isEmpty)
        }
    }

    @Test func `a restart begins with the strategy of the flag, and has all that was answered`()
        async throws
    {
        let folder = try TemporaryFolder()
        let flags = ["serve", "--port", "0", "--data", folder.path + "/data"]
        let first = try Program(flags)
        try await offPool {
            let site = Site(port: try first.awaitPort())
            #expect(try Self.run(site.port, "barrier-queue-async").status == 0)
            try first.awaitErrors(containing: "strategy switched from=lock to=barrier-queue-async")
            for _ in 0..<100 {
                #expect(try site.ask("POST", "/v1/properties/n/increment").status == 200)
            }
            first.signal(SIGKILL)
            _ = first.wait()
        }
        let second = try Program(flags)
        let texts = try await offPool {
            let site = Site(port: try second.awaitPort())
            return try ["/v1/properties/n", "/v1/strategy"].map { try site.ask("GET", $0).text }
        }
        #expect(texts[0] == "100")
        #expect(texts[1].hasPrefix(#"{"strategy":"lock","atStart":"lock","#))
        #expect(try await offPool { second.end() } == 0)
    }
}
