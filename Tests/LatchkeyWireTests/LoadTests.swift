import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// A service under several clients, whose answers and counts must be right for figures to count.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct LoadTests {
    private static let clientCount = 4
    private static let roundCount = 50

    @Test(arguments: Depth.kinds)
    func `every answer, count and acquisition is accounted for`(kind: StrategyKind) async throws {
        try await Deployment.inProcess.serve(["--strategy", kind.rawValue]) { site in
            let good = Arrivals()
            let haveEnded = TestThread.run(Self.clientCount) { number in
                guard let client = try? site.client() else { return }
                for round in 0..<Self.roundCount {
                    let value = Array("\(round)".utf8)
                    let own = "/v1/properties/own\(number)"
                    let answers = [
                        try? client.request("PUT", "/v1/properties/shared", body: value),
                        try? client.request("PUT", own, body: value),
                        try? client.request("GET", own),
                        try? client.request("POST", "/v1/properties/n/increment"),
                    ]
                    let isGood =
                        answers.allSatisfy { $0.map { (200...204).contains($0.status) } ?? false }
                        && answers[2]?.body == value
                    if isGood { good.arrive() }
                }
            }
            let rounds = Self.clientCount * Self.roundCount
            #expect(haveEnded)
            #expect(good.value == rounds)
            #expect(try site.ask("GET", "/v1/properties/n").text == "\(rounds)")
            let report = try #require(try site.ask("GET", "/v1/contention").json as? [String: Any])
            let rows = try #require(report["rows"] as? [[String: Any]])
            let serving = try #require(rows.first { $0["role"] as? String == "serving" })
            let acquisitions = try #require(serving["acquisitions"] as? [String: Int])
            #expect(acquisitions["read"] == rounds + 1)
            #expect(acquisitions["write"] == 3 * rounds)
        }
    }
}
