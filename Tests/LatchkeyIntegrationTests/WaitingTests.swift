import Foundation
import LatchkeyClient
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

/// Transactions and pops that wait, and what leases, limits and queues are made of.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct WaitingTests {
    private static let ways = ["lock", "snapshot", "actor", "barrier-queue-async"].map {
        ["--strategy", $0]
    }
    private static let json = ["Content-Type: application/json"]

    private static func acquire(_ holder: Int, _ wait: Int, key: String? = nil) -> String {
        let body = #"""
            {"if":[{"name":"lock","absent":true}],
            "then":[{"put":"lock","value":\#(holder),"ttl":60}]}
            """#
        let keyLine = key.map { "Idempotency-Key: \($0)\r\n" } ?? ""
        return "POST /v1/transactions?wait=\(wait) HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Type: application/json\r\n\(keyLine)"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// Exactly two requests for each section, and no thread that waits has two turns.
    @Test(arguments: Deployment.inThisProcess, ways)
    func `a lock goes from one to the next, in the order in which they asked`(
        deployment: Deployment,
        flags: [String]
    ) async throws {
        try await deployment.serve(flags) { site in
            let holder = try site.client()
            try holder.send(Self.acquire(0, 0))
            #expect(try holder.answer().status == 200)
            var waiting: [HTTPClient] = []
            for number in 1...8 {
                let client = try site.client()
                try client.send(Self.acquire(number, 60))
                try site.awaitMetric("latchkey_watchers", number)
                waiting.append(client)
            }
            for (index, client) in waiting.enumerated() {
                #expect(try holder.request("DELETE", "/v1/properties/lock").status == 204)
                let answer = try client.answer()
                #expect(answer.status == 200)
                #expect(answer.text.contains(#""succeeded":true"#))
                #expect(try holder.request("GET", "/v1/properties/lock").text == "\(index + 1)")
            }
            try site.awaitMetric("latchkey_watchers", 0)
        }
    }

    @Test(arguments: Deployment.allCases)
    func `when the time is up, the other branch is taken`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/lock", body: [0x31])
            try client.send(Self.acquire(2, 1))
            let answer = try client.answer()
            #expect(answer.text.contains(#""succeeded":false"#))
            #expect(try client.request("GET", "/v1/properties/lock").text == "1")
            let pop = try client.request("POST", "/v1/pop?prefix=jobs/&wait=0.5")
            #expect(pop.status == 404)
            #expect(pop.problem == "not-found")
        }
    }

    /// A lock must not go to a client that has gone; a repeat of its request is a new try.
    @Test(arguments: Deployment.inThisProcess)
    func `nothing is done for a client that has gone`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/lock", body: [0x31])
            let gone = try site.client()
            try gone.send(Self.acquire(2, 60, key: "k"))
            try site.awaitMetric("latchkey_watchers", 1)
            gone.close()
            try site.awaitMetric("latchkey_watchers", 0)
            _ = try client.request("DELETE", "/v1/properties/lock")
            #expect(try client.request("GET", "/v1/properties/lock").status == 404)
            let again = try site.client()
            try again.send(Self.acquire(2, 60, key: "k"))
            let answer = try again.answer()
            #expect(answer.text.contains(#""succeeded":true"#))
            #expect(try client.request("GET", "/v1/properties/lock").text == "2")
        }
    }

    /// Its request has two owners: who waits for the key, and who waits for the conditions.
    @Test(arguments: Deployment.inThisProcess)
    func `a repeat that waits for its key and then for its turn is given up, too`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/lock", body: [0x31])
            let first = try site.client()
            try first.send(Self.acquire(2, 60, key: "k"))
            try site.awaitMetric("latchkey_watchers", 1)
            let others = try (0..<2).map { _ in
                let other = try site.client()
                try other.send(Self.acquire(2, 60, key: "k"))
                return other
            }
            try site.awaitMetric("latchkey_http_suspended_requests", 3)
            first.close()
            try site.awaitMetric("latchkey_http_suspended_requests", 2)
            try site.awaitMetric("latchkey_watchers", 1)
            others[0].close()
            others[1].close()
            try site.awaitMetric("latchkey_watchers", 0)
            _ = try client.request("DELETE", "/v1/properties/lock")
            #expect(try client.request("GET", "/v1/properties/lock").status == 404)
        }
    }

    /// The branch for the end of the time is nothing that a client which has gone asks for.
    @Test(arguments: Deployment.inThisProcess)
    func `the other branch is not taken for a client that has gone`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            let body = #"""
                {"if":[{"name":"none","absent":false}],"then":[],"else":[{"put":"late","value":1}]}
                """#
            let gone = try site.client()
            try gone.send(
                "POST /v1/transactions?wait=60 HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
            try site.awaitMetric("latchkey_watchers", 1)
            gone.close()
            try site.awaitMetric("latchkey_watchers", 0)
            #expect(try client.request("GET", "/v1/properties/late").status == 404)
        }
    }

    @Test func `without conditions there is nothing to wait for`() async throws {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            for body in [#"{"then":[{"put":"a","value":1}]}"#, #"{"then":[{"count":"a"}]}"#] {
                let answer = try client.request(
                    "POST",
                    "/v1/transactions?wait=60",
                    headers: Self.json,
                    body: Array(body.utf8)
                )
                #expect(answer.text.contains(#""succeeded":true"#))
            }
        }
    }

    /// A line that is refused as a whole would come back as a whole.
    @Test func `a full backlog does not end the waits of a line`() async throws {
        let flags = ["--backlog", "1", "--stripes", "1", "--strategy", "serial-queue-async"]
        try await Deployment.inProcess.serve(flags) { site in
            func insist(_ client: HTTPClient, _ method: String, _ status: Int) throws {
                while true {
                    let answer = try client.request(
                        method,
                        "/v1/properties/lock",
                        body: method == "PUT" ? [0x30] : nil
                    )
                    if answer.status == status { return }
                    try #require(answer.problem == "backlog-full")
                }
            }
            let holder = try site.client()
            try insist(holder, "PUT", 201)
            var waiting: [HTTPClient] = []
            for number in 1...6 {
                let client = try site.client()
                try client.send(Self.acquire(number, 60))
                try site.awaitMetric("latchkey_watchers", number)
                waiting.append(client)
            }
            let isOver = Atomic(false)
            let refused = Arrivals()
            let crowd = (0..<6).map { _ in
                TestThread {
                    guard let client = try? site.client() else { return }
                    while !isOver.load(ordering: .relaxed) {
                        let answer = try? client.request("POST", "/v1/properties/n/increment")
                        if answer?.problem == "backlog-full" { refused.arrive() }
                    }
                }
            }
            defer {
                isOver.store(true, ordering: .relaxed)
                for thread in crowd { thread.join() }
            }
            for (index, client) in waiting.enumerated() {
                try insist(holder, "DELETE", 204)
                let answer = try client.answer()
                #expect(answer.status == 200, "\(index): \(answer.text)")
            }
            #expect(refused.value > 0)
        }
    }

    /// The time to live counts from the try that was sent first: the answer can be that of then.
    @Test(arguments: Deployment.inThisProcess)
    func `a lease counts from its first try`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let origin = "http://127.0.0.1:\(site.port)"
            let client = Client(ServiceConnection(origin: origin, timeLimit: .seconds(20)))
            let lock = LeaseClient(client, name: "a", timeToLive: .seconds(60), holder: "me")
            let attempt = lock.attempt(nil)
            let first = try lock.acquire(attempt, isCancelled: { false })
            let repeated = try lock.acquire(attempt, isCancelled: { false })
            #expect(first != nil)
            #expect(first == repeated)
        }
    }

    @Test(arguments: Deployment.inThisProcess)
    func `a request that waits has a bounded body`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            for (count, status) in [(64 * 1024, 200), (64 * 1024 + 1, 422)] {
                let condition = #""if":[{"name":"none","absent":true}]"#
                let frame = #"{\#(condition),"then":[{"put":"a","value":""}]}"#
                let value = String(repeating: "x", count: count - frame.utf8.count)
                let body = #"{\#(condition),"then":[{"put":"a","value":"\#(value)"}]}"#
                let answer = try client.request(
                    "POST",
                    "/v1/transactions?wait=9",
                    headers: Self.json,
                    body: Array(body.utf8)
                )
                #expect(answer.status == status)
                #expect(answer.problem == (status == 200 ? nil : "transaction-too-large"))
            }
        }
    }

    @Test func `a drain answers those who wait`() async throws {
        let program = try Program(["serve", "--port", "0", "--start-revision", "0"])
        try await offPool {
            let site = Site(port: try program.awaitPort())
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/lock", body: [0x31])
            let waiting = try site.client()
            try waiting.send(Self.acquire(2, 60))
            try site.awaitMetric("latchkey_watchers", 1)
            let status = program.end()
            #expect(try waiting.answer().text.contains(#""succeeded":false"#))
            #expect(status == 0)
        }
    }

    @Test(arguments: Deployment.inThisProcess, ways)
    func `each job is done by one worker, also if its first worker dies`(
        deployment: Deployment,
        flags: [String]
    ) async throws {
        try await deployment.serve(flags) { site in
            let client = try site.client()
            let waiting = try site.client()
            let pop = "/v1/pop?prefix=jobs/&claim=claims/&ttl=0.3&wait=20"
            try waiting.send("POST \(pop) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try site.awaitMetric("latchkey_watchers", 1)
            _ = try client.request("PUT", "/v1/properties/jobs%2F1", body: [0x37])
            let first = try waiting.answer()
            #expect(first.status == 200)
            #expect(
                first.text == #"{"revision":2,"result":{"name":"jobs/1","revision":1,"#
                    + #""created":1,"value":7}}"#
            )
            // It is claimed until the claim expires: the worker does not finish it.
            let none = try client.request("POST", "/v1/pop?prefix=jobs/&claim=claims/&ttl=0.3")
            #expect(none.status == 404)
            let second = try client.request("POST", pop)
            #expect(second.text.contains(#""name":"jobs/1","revision":1"#))
            let claim = try #require(
                second.text.split(separator: ":")[1].split(separator: ",").first
            )
            let done = #"""
                {"if":[{"name":"claims/1","revision":\#(claim)}],
                "then":[{"delete":"jobs/1"},{"delete":"claims/1"}]}
                """#
            let answer = try client.request(
                "POST",
                "/v1/transactions",
                headers: Self.json,
                body: Array(done.utf8)
            )
            #expect(answer.text.contains(#""succeeded":true"#))
            #expect(try client.request("GET", "/v1/count").text.hasPrefix(#"{"count":0,"#))
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a lease is kept by touching it`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/lease?ttl=60", body: [0x31])
            let touched = try client.request("POST", "/v1/properties/lease/touch?ttl=600")
            #expect(touched.status == 204)
            #expect(touched.headers["etag"] == #""1""#)
            let answer = try client.request("GET", "/v1/properties/lease")
            #expect(answer.headers["etag"] == #""1""#)
            #expect(Double(answer.headers["latchkey-ttl"] ?? "") ?? 0 > 500)
            let other = try client.request(
                "POST",
                "/v1/properties/lease/touch?ttl=9",
                headers: [#"If-Match: "7""#]
            )
            #expect(other.problem == "precondition-failed")
            #expect(try client.request("POST", "/v1/properties/x/touch?ttl=9").status == 404)
            #expect(try client.request("POST", "/v1/properties/x/touch").status == 400)
            let changes = try client.request("GET", "/v1/changes").text
            #expect(changes.split(separator: #""type""#).count == 2, "the put alone is a change")
        }
    }

    @Test(arguments: Deployment.allCases)
    func `several names, counts and deletions of a prefix`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            for name in ["a%2F1", "a%2F2", "a%2F3", "b"] {
                _ = try client.request("PUT", "/v1/properties/\(name)", body: [0x31])
            }
            func text(_ method: String, _ target: String) throws -> String {
                try client.request(method, target).text
            }
            let list = try text("GET", "/v1/properties?name=b&name=a/2&name=none&values=false")
            #expect(
                list == #"{"revision":4,"properties":[{"name":"a/2","revision":2,"created":2},"#
                    + #"{"name":"b","revision":4,"created":4}]}"#
            )
            #expect(try text("GET", "/v1/count?prefix=a/") == #"{"count":3,"revision":4}"#)
            #expect(
                try text("DELETE", "/v1/properties?prefix=a/&limit=2")
                    == #"{"count":2,"more":true,"revision":5}"#
            )
            #expect(
                try text("DELETE", "/v1/properties?prefix=a/")
                    == #"{"count":1,"more":false,"revision":6}"#
            )
            #expect(
                try text("DELETE", "/v1/properties?prefix=a/")
                    == #"{"count":0,"more":false,"revision":6}"#
            )
            #expect(try text("GET", "/v1/count") == #"{"count":1,"revision":6}"#)
            for target in [
                "/v1/properties", "/v1/properties?prefix=", "/v1/properties?prefix=a&limit=0",
                "/v1/properties?prefix=a&limit=1001",
            ] {
                #expect(try client.request("DELETE", target).status == 400, "\(target)")
            }
            let names = (0...128).map { "name=n\($0)" }
            let most = "/v1/properties?" + names.dropLast().joined(separator: "&")
            #expect(try client.request("GET", most).status == 200)
            #expect(
                try client.request("GET", "/v1/properties?" + names.joined(separator: "&")).status
                    == 400
            )
            for target in [
                "/v1/pop", "/v1/pop?prefix=a&claim=b", "/v1/pop?prefix=a&ttl=5",
                "/v1/pop?prefix=a&claim=ab&ttl=5",
                "/v1/pop?prefix=ab&claim=a&ttl=5", "/v1/pop?prefix=a&wait=61",
            ] {
                #expect(try client.request("POST", target).status == 400, "\(target)")
            }
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a limit begins anew when its time is over, not with each request`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            let target = "/v1/properties/rate/increment?ttl-if-new=60"
            #expect(try client.request("POST", target).text == "1")
            let first = try client.request("GET", "/v1/properties/rate").headers["latchkey-ttl"]
            try Self.awaitLess(first, client)
            #expect(try client.request("POST", target).text == "2")
            let second = try client.request("GET", "/v1/properties/rate").headers["latchkey-ttl"]
            #expect(Double(second ?? "") ?? 99 < Double(first ?? "") ?? 0)
            let both = "/v1/properties/rate/increment?ttl-if-new=60&ttl=60"
            #expect(try client.request("POST", both).status == 400)
            // Of a short one the end comes, though there are requests all the time.
            let short = "/v1/properties/short/increment?ttl-if-new=0.2"
            var (former, count) = (0, try #require(try Int(client.request("POST", short).text)))
            while count > former {
                former = count
                count = try #require(try Int(client.request("POST", short).text))
            }
            #expect(count == 1)
        }
    }

    /// Waits until the time that is left is shorter than it was.
    private static func awaitLess(_ first: String?, _ client: HTTPClient) throws {
        try eventually("the time to live goes on") {
            try client.request("GET", "/v1/properties/rate").headers["latchkey-ttl"] != first
        }
    }
}
