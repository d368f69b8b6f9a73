import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Many clients that repeat one request at once.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct RepetitionTests {
    static let threadFlags = [["--http-threads", "2"], ["--thread-per-connection"]]

    @Test(arguments: Deployment.allCases, [StrategyKind.lock, .barrierQueueAsync])
    func `two hundred repeats of one increment add once`(
        deployment: Deployment,
        kind: StrategyKind
    ) async throws {
        for flags in Self.threadFlags {
            try await deployment.serve(["--strategy", kind.rawValue] + flags) { site in
                let answers = Synchronized<[HTTPAnswer], LockStrategy>([])
                let increment = "/v1/properties/visits/increment"
                let ended = TestThread.run(200) { _ in
                    let headers = ["Idempotency-Key: 8e03978e-40d5-43e8"]
                    if let answer = try? site.ask("POST", increment, headers: headers) {
                        answers.write { $0.append(answer) }
                    }
                }
                #expect(ended)
                let all = answers.read { $0 }
                #expect(all.count == 200)
                #expect(all.allSatisfy { $0.text == "1" && $0.headers["etag"] == "\"1\"" })
                #expect(all.count { $0.headers["idempotency-replayed"] == nil } == 1)
                #expect(try site.ask("GET", "/v1/properties/visits").text == "1")
                let metrics = try site.ask("GET", "/metrics").text.split(separator: "\n")
                #expect(metrics.contains("latchkey_idempotency_keys 1"))
                #expect(metrics.contains("latchkey_idempotency_replays_total 199"))
            }
        }
    }
}
