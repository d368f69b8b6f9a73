import Foundation
import LatchkeyComparison
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Exports: one revision each, also an earlier one, whatever happens meanwhile.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ExportTests {
    @Test(arguments: Deployment.allCases)
    func `an export while everything changes is one revision`(deployment: Deployment) async throws {
        try await deployment.serve(["--history-bytes", "1GiB"]) { site in
            let count = 300
            try site.imported(manyLines(0..<count) { _ in "100" })
            let isDone = Synchronized<Bool, LockStrategy>(false)
            let writers = (0..<3).map { number in
                TestThread {
                    let client = try? site.client()
                    var random = SeededRandom(seed: UInt64(number))
                    while !isDone.read({ $0 }) {
                        let one = Int.random(in: 0..<count, using: &random)
                        let other = Int.random(in: 0..<count, using: &random)
                        let body = """
                            {"then":[{"increment":"k\(100_000 + one)","by":-7},\
                            {"increment":"k\(100_000 + other)","by":7}]}
                            """
                        let answer = try? client?.request(
                            "POST",
                            "/v1/transactions",
                            body: Array(body.utf8)
                        )
                        #expect(answer?.status == 200)
                    }
                }
            }
            defer {
                isDone.write { $0 = true }
                for writer in writers {
                    writer.join()
                }
            }
            for _ in 0..<4 {
                let state = try site.exported()
                #expect(state.lines.count == count)
                #expect(state.lines.map { Int($0.value) ?? 0 }.reduce(0, +) == 100 * count)
                #expect(state.lines.allSatisfy { $0.revision <= state.revision })
                #expect(try site.exported("?revision=\(state.revision)") == state)
            }
        }
    }

    @Test(arguments: Deployment.allCases)
    func `an earlier revision is exported as it was`(deployment: Deployment) async throws {
        // More than the last forty of these changes, and less than all.
        let flags = ["--history-bytes", "16800"]
        try await deployment.serve(flags) { site in
            var random = SeededRandom(seed: 9)
            var states = [try site.exported()]
            #expect(states[0] == (try site.exported("?revision=0")))
            for number in 1...60 {
                let name = "p\(Int.random(in: 0..<8, using: &random))"
                switch Int.random(in: 0..<4, using: &random) {
                case 0 where states[number - 1].lines.contains { $0.name == name }:
                    #expect(try site.ask("DELETE", "/v1/properties/\(name)").status == 204)
                case 1:
                    try site.imported(
                        (0..<4).map { "{\"name\":\"p\($0)\",\"value\":\(number)}\n" }.joined()
                    )
                default:
                    let answer = try site.ask("PUT", "/v1/properties/\(name)", "\(number)")
                    #expect([201, 204].contains(answer.status))
                }
                states.append(try site.exported())
                #expect(states[number].revision == number)
            }
            for state in states[20...] {
                #expect(try site.exported("?revision=\(state.revision)") == state)
                let some = try site.exported("?prefix=p1&revision=\(state.revision)")
                #expect(some.lines == state.lines.filter { $0.name == "p1" })
            }
            for revision in ["0", "61", "18446744073709551615"] {
                let answer = try site.ask("GET", "/v1/export?revision=\(revision)")
                #expect(answer.problem == "gone")
                #expect(answer.status == 410)
            }
            for query in ["revision=x", "revision=-1", "revision=%2B1", "revision=", "after=1"] {
                #expect(try site.ask("GET", "/v1/export?\(query)").problem == "invalid-query")
            }
        }
    }

    @Test func `HEAD sends the revision, and a value comes on one line`() async throws {
        try await Deployment.inProcess.serve(["--client-share", "1/1"], limits: "max-exports=4") {
            site in
            let value = "{\r\n \"x\":\t1\n}"
            #expect(try site.ask("PUT", "/v1/properties/a%22", value).status == 201)
            for _ in 0..<3 {
                let head = try site.ask("HEAD", "/v1/export")
                #expect(head.status == 200)
                #expect(head.headers["latchkey-revision"] == "1")
                #expect(head.headers["cache-control"] == "no-store")
                try site.awaitExport()
            }
            let text = try site.awaitExport()
            #expect(
                text == #"{"name":"a\"","value":{   "x":\#t1 },"revision":1,"created":1}"# + "\n"
                    + #"{"end":true,"count":1,"revision":1}"# + "\n"
            )
            let none = try site.awaitExport("?prefix=b")
            #expect(none == #"{"end":true,"count":0,"revision":1}"# + "\n")
        }
    }

    @Test func `the number of exports is bounded, and a client that goes frees its place`()
        async throws
    {
        try await Deployment.inProcess.serve(limits: "max-exports=1") { site in
            try site.fill()
            let client = try site.asking("GET", "/v1/export")
            #expect(try client.head().status == 200)
            let refused = try site.ask("GET", "/v1/export")
            #expect(refused.problem == "too-many-exports")
            #expect(refused.status == 503)
            #expect(refused.headers["retry-after"] == "1")
            client.reset()
            try site.await("latchkey_http_connections{state=\"streaming\"}", "0")
            try site.awaitExport("?prefix=none")
        }
    }

    @Test func `a drain waits for an export`() async throws {
        try await Deployment.inProcess.run(["--drain-seconds", "60"]) { site, service in
            try site.fill()
            let client = try site.asking("GET", "/v1/export")
            try site.await("latchkey_http_connections{state=\"streaming\"}", "1")
            service.drain()
            try eventually("nothing new is taken") { (try? site.client()) == nil }
            let body = try client.answer().body
            #expect(body.count { $0 == 0x0A } == Site.filledCount + 1)
        }
    }

    @Test func `an export that a stop cuts off does not look complete`() async throws {
        let flags = ["--drain-seconds", "0"]
        try await Deployment.inProcess.run(flags, cutsOff: (0, 1)) { site, service in
            try site.fill()
            let client = try site.asking("GET", "/v1/export")
            try site.await("latchkey_http_connections{state=\"streaming\"}", "1")
            _ = service.end()
            #expect(throws: HTTPClientError.self) { try client.answer() }
        }
    }
}

extension Site {
    /// Of 20,000 bytes each: their export does not fit into the buffers of sockets.
    fileprivate static let filledCount = 1_000

    func fill() throws {
        let value = "\"" + String(repeating: "x", count: 20_000) + "\""
        let lines = manyLines(0..<Self.filledCount) { _ in value }
        try imported(lines, query: "?batch=1000&partial=true")
    }

    /// Waits until an export is allowed again, and returns it.
    @discardableResult
    fileprivate func awaitExport(_ query: String = "") throws -> String {
        var answer = try ask("GET", "/v1/export\(query)")
        try eventually("an export is allowed") {
            if answer.status != 200 { answer = try ask("GET", "/v1/export\(query)") }
            return answer.status == 200
        }
        return answer.text
    }
}
