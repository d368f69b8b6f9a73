import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

/// A service that is switched while it serves.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct SwitchTests {
    private static let path = "/v1/strategy"

    private static func body(_ kind: StrategyKind) -> String {
        #"{"strategy":"\#(kind.rawValue)"}"#
    }

    private static func names(_ answer: HTTPAnswer) throws -> [String: Any] {
        try #require(answer.json as? [String: Any])
    }

    /// The actor serves the one stripe that it needs; others of these services have four.
    @Test(arguments: Deployment.allCases)
    func `writes go on while a service is switched to each strategy, and none is lost`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve(["--stripes", "4"]) { site in
            let made = Arrivals()
            let isOver = Atomic(false)
            let writers = (0..<2).map { _ in
                TestThread {
                    guard let client = try? site.client() else { return }
                    while !isOver.load(ordering: .relaxed) {
                        let counter = "/v1/properties/n/increment"
                        guard (try? client.request("POST", counter))?.status == 200 else { return }
                        made.arrive()
                    }
                }
            }
            var served = [deployment.strategy]
            for kind in StrategyKind.allCases {
                let answer = try site.ask("PUT", Self.path, Self.body(kind))
                guard kind.traits.blocksCaller || deployment == .actor else {
                    #expect(answer.problem == "strategy-not-available", "\(kind)")
                    continue
                }
                #expect(answer.status == 200, "\(kind): \(answer.text)")
                let report = try Self.names(answer)
                #expect(report["from"] as? String == served.last)
                #expect(report["to"] as? String == kind.rawValue)
                let now = try Self.names(site.ask("GET", Self.path))
                #expect(now["strategy"] as? String == kind.rawValue)
                #expect(now["atStart"] as? String == deployment.strategy)
                served.append(kind.rawValue)
                #expect(made.wait(for: made.value + 20), "\(kind) serves")
            }
            isOver.store(true, ordering: .relaxed)
            for writer in writers { #expect(writer.join()) }
            #expect(try site.ask("GET", "/v1/properties/n").text == "\(made.value)")
            let report = try Self.names(site.ask("GET", "/v1/contention"))
            let rows = try #require(report["rows"] as? [[String: Any]])
            let shown = rows.filter { $0["role"] as? String == "serving" }
                .compactMap { $0["strategy"] as? String }
            #expect(shown.first == served.last)
            #expect(Set(shown) == Set(served) && shown.count == Set(served).count)
            let overview = try Self.names(site.ask("GET", "/v1/overview"))
            #expect(overview["strategy"] as? String == served.last)
            let table = try Self.names(site.ask("GET", "/v1/strategies"))
            #expect(table["serving"] as? String == served.last)
            let switches = "latchkey_strategy_switches_total \(Self.changes(served))\n"
            #expect(try site.ask("GET", "/metrics").text.contains(switches))
        }
    }

    private static func changes(_ served: [String]) -> Int {
        zip(served, served.dropFirst()).count { $0 != $1 }
    }

    @Test func `only an admin switches, and everybody with a token sees the strategy`()
        async throws
    {
        let tokens = try Tokens(["see": ["read,write"], "boss": ["admin"]])
        try await Deployment.inProcess.serve(tokens.flags) { site in
            let (see, boss) = (site.with(tokens, "see"), site.with(tokens, "boss"))
            #expect(try site.ask("PUT", Self.path, Self.body(.spin)).status == 401)
            let refused = try see.ask("PUT", Self.path, Self.body(.spin))
            #expect(refused.status == 403 && refused.text.contains("the right admin"))
            #expect(try site.ask("GET", Self.path).status == 401)
            #expect(try see.ask("GET", Self.path).text.hasPrefix(#"{"strategy":"lock""#))
            #expect(try boss.ask("PUT", Self.path, Self.body(.spin)).status == 200)
            #expect(try see.ask("GET", Self.path).text.hasPrefix(#"{"strategy":"spin""#))
            #expect(try see.ask("HEAD", Self.path).status == 200)
        }
    }
}
