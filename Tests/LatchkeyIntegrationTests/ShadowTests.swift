import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// Shadows of a running service: their traffic, and that no answer depends on them.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct ShadowTests {
    private static let everything = ["--shadow", "all", "--shadow-sample", "1/1"]

    private static func shadowRows(_ site: Site) throws -> [String: [String: Any]] {
        let report = try #require(try site.ask("GET", "/v1/contention").json as? [String: Any])
        let rows = try #require(report["rows"] as? [[String: Any]])
        var found: [String: [String: Any]] = [:]
        for row in rows where row["role"] as? String == "shadow" {
            found[try #require(row["strategy"] as? String)] = row
        }
        return found
    }

    /// Requests whose answers depend on the state, on revisions and on the requests before.
    private static let requests:
        [(method: String, target: String, body: String?, header: String?)] = [
            ("PUT", "a", "1", nil), ("PUT", "b", #"{"x":[1,2]}"#, nil), ("GET", "a", nil, nil),
            ("PUT", "a", "2", #"If-Match: "1""#), ("PUT", "a", "3", #"If-Match: "1""#),
            ("PUT", "b", "4", "If-None-Match: *"), ("PUT", "c", "5", "If-None-Match: *"),
            ("POST", "a/increment", #"{"by":40}"#, nil), ("POST", "b/increment", nil, nil),
            ("POST", "%63/increment", nil, nil), ("GET", "a", nil, #"If-None-Match: "4""#),
            ("DELETE", "b", nil, #"If-Match: "1""#), ("DELETE", "b", nil, nil),
            ("DELETE", "b", nil, nil), ("GET", "b", nil, nil), ("PUT", "b", "oops", nil),
            ("PUT", "b", "6", nil),
        ]

    private static func answers(_ site: Site) throws -> [String] {
        let client = try site.client()
        var answers = try requests.map { method, target, body, header in
            let answer = try client.request(
                method,
                "/v1/properties/\(target)",
                headers: header.map { [$0] } ?? [],
                body: body.map { Array($0.utf8) }
            )
            return "\(answer.status) \(answer.headers["etag"] ?? "-") \(answer.text)"
        }
        answers.append(try client.request("GET", "/v1/properties?limit=2").text)
        return answers
    }

    @Test(arguments: Deployment.withStrategies)
    func `answers and their order are the same with shadows and without`(
        deployment: Deployment,
        kind: StrategyKind
    ) async throws {
        let strategy = ["--strategy", kind.rawValue]
        let alone = Synchronized<[String], LockStrategy>([])
        try await deployment.serve(strategy) { site in
            let answers = try Self.answers(site)
            alone.write { $0 = answers }
        }
        try await deployment.serve(strategy + Self.everything) { site in
            let answers = try Self.answers(site)
            #expect(answers == alone.read { $0 })
        }
    }

    @Test(arguments: Deployment.allCases)
    func `every shadow is given all operations if all are sampled`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve(["--stripes", "4"] + Self.everything) { site in
            let client = try site.client()
            for number in 0..<50 {
                _ = try client.request("PUT", "/v1/properties/\(number)", body: [0x31])
                _ = try client.request("GET", "/v1/properties/\(number)")
                _ = try client.request("POST", "/v1/properties/\(number)/increment")
                _ = try client.request("DELETE", "/v1/properties/x")
            }
            _ = try client.request("GET", "/v1/properties")
            // The operations of some are made behind the answer.
            var rows: [String: [String: Any]] = [:]
            try eventually("shadows have made all operations") {
                rows = try Self.shadowRows(site)
                return try rows.allSatisfy { strategy, row in
                    let counts = try #require(row["acquisitions"] as? [String: Int])
                    let reads = 50 + (strategy == "actor" ? 1 : 4)
                    return counts["read"] == reads && counts["write"] == 150
                }
            }
            #expect(Set(rows.keys) == Set(StrategyKind.allCases.map(\.rawValue)))
            for (strategy, row) in rows {
                let share = try #require(row["shadow"] as? [String: Int])
                #expect(share == ["sampleInterval": 1, "refused": 0], "\(strategy)")
            }
            let metrics = try site.ask("GET", "/metrics").text
            let write = #"{strategy="spin",mode="write",role="shadow"}"#
            #expect(metrics.contains("latchkey_lock_acquisitions_total\(write) 150\n"))
            let spin = #"{strategy="spin",role="shadow"}"#
            #expect(metrics.contains("latchkey_shadow_sampling_ratio\(spin) 1.0\n"))
            #expect(metrics.contains("latchkey_shadow_refused_total\(spin) 0\n"))
            #expect(try client.request("POST", "/v1/contention/reset").status == 204)
            let after = try #require(try Self.shadowRows(site)["spin"])
            #expect(after["acquisitions"] as? [String: Int] == ["read": 0, "write": 0, "all": 0])
        }
    }

    @Test func `of a running service a shadow is given a part and not all`() async throws {
        let flags = ["--shadow", "spin,actor", "--shadow-sample", "1/4"]
        try await Deployment.inProcess.serve(flags) { site in
            let client = try site.client()
            var served = 0
            var sampled = 0
            // Until some were and some were not; slots are drawn anew every half-millisecond.
            while (sampled == 0 || sampled == served) && served < 1_000_000 {
                for _ in 0..<100 {
                    _ = try client.request("GET", "/v1/properties/n")
                }
                served += 100
                let row = try #require(try Self.shadowRows(site)["spin"])
                sampled = try #require((row["acquisitions"] as? [String: Int])?["read"])
                #expect((row["shadow"] as? [String: Int])?["sampleInterval"] == 4)
            }
            #expect(sampled > 0 && sampled < served)
        }
    }

    @Test func `a service without shadows shows none`() async throws {
        try await Deployment.inProcess.serve { site in
            #expect(try Self.shadowRows(site).isEmpty)
            let metrics = try site.ask("GET", "/metrics").text
            #expect(!metrics.contains(#"role="shadow""#))
        }
    }

    @Test(arguments: ["serial-queue-async", "barrier-queue-async", "actor"])
    func `what a shadow refuses is counted, and no client notices`(
        shadow: String
    ) async throws {
        let flags = [
            "--backlog", "1", "--stripes", "1", "--shadow", shadow, "--shadow-sample", "1/1",
        ]
        try await Deployment.inProcess.serve(flags) { site in
            let applied = Arrivals()
            let haveEnded = TestThread.run(8) { _ in
                guard let client = try? site.client() else {
                    return
                }
                for _ in 0..<200 {
                    let answer = try? client.request("POST", "/v1/properties/n/increment")
                    if answer?.status == 200 {
                        applied.arrive()
                    }
                }
            }
            #expect(haveEnded)
            #expect(applied.value == 1600)
            #expect(try site.ask("GET", "/v1/properties/n").text == "1600")
            let row = try #require(try Self.shadowRows(site)[shadow])
            let counts = try #require(row["acquisitions"] as? [String: Int])
            let share = try #require(row["shadow"] as? [String: Int])
            let all = try #require(counts["all"]) + #require(share["refused"])
            // The increments, and the get at the end.
            #expect(all == 1601)
        }
    }

    @Test(arguments: [
        (["--shadow", "hope"], "--shadow takes names from serial-queue, "),
        (["--shadow", "spin,spin"], "--shadow names 'spin' twice."),
        (["--shadow", "all,spin"], "--shadow takes all, or names, not both."),
        (["--shadow="], "--shadow needs a value."),
        (
            ["--shadow", "spin", "--shadow-sample", "1/0"],
            "--shadow-sample takes 1/N with N from 1"
        ),
        (
            ["--shadow", "spin", "--shadow-sample", "0.5"],
            "--shadow-sample takes 1/N with N from 1"
        ),
        (["--shadow-sample", "1/2"], "--shadow-sample has no meaning without --shadow."),
        (["--shadow", "spin", "--metering", "off"], "--shadow has no meaning with --metering off"),
    ])
    func `a bad shadow is a sentence and status 2`(
        arguments: [String],
        sentence: String
    ) async throws {
        let program = try Program(["serve"] + arguments)
        let result = try await offPool { program.finish() }
        #expect(result.status == 2)
        #expect(result.errors.hasPrefix("latchkey: \(sentence)"), "\(result.errors)")
        #expect(result.output.isEmpty)
    }
}
