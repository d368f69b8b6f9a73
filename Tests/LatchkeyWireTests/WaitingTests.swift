import Foundation
import LatchkeyClient
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

/// Transactions and pops that wait, and the parts of leases, limits and queues.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct WaitingTests {
    private static let json = ["Content-Type: application/json"]

    private static let lock = "/v1/properties/lock"

    /// A client that has asked for the lock, and waits.
    private static func acquiring(
        _ site: Site,
        _ holder: Int,
        _ wait: Int = 60,
        key: String? = nil
    ) throws -> HTTPClient {
        let body = #"""
            {"if":[{"name":"lock","absent":true}],
            "then":[{"put":"lock","value":\#(holder),"ttl":60}]}
            """#
        let headers = json + (key.map { ["Idempotency-Key: \($0)"] } ?? [])
        return try site.asking("POST", "/v1/transactions?wait=\(wait)", body, headers: headers)
    }

    /// Clients that wait for the lock, in the order of their numbers.
    private static func line(_ site: Site, _ count: Int) throws -> [HTTPClient] {
        try (1...count).map { number in
            let client = try acquiring(site, number)
            try site.awaitMetric("latchkey_watchers", number)
            return client
        }
    }

    /// Exactly two requests for each section, and no thread that waits has two turns.
    @Test(arguments: Deployment.allCases)
    func `a lock goes from one to the next, in the order in which they asked`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            #expect(try Self.acquiring(site, 0, 0).answer().status == 200)
            for (index, client) in try Self.line(site, 8).enumerated() {
                #expect(try site.ask("DELETE", Self.lock).status == 204)
                #expect(try client.answer().text.contains(#""succeeded":true"#))
                #expect(try site.ask("GET", Self.lock).text == "\(index + 1)")
            }
            try site.awaitMetric("latchkey_watchers", 0)
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `when the time is up, the other branch is taken`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            _ = try site.ask("PUT", Self.lock, "1")
            let answer = try Self.acquiring(site, 2, 1).answer()
            #expect(answer.text.contains(#""succeeded":false"#))
            #expect(try site.ask("GET", Self.lock).text == "1")
            #expect(try site.ask("POST", "/v1/pop?prefix=jobs/&wait=0.5").problem == "not-found")
        }
    }

    /// A lock must not go to a client that has gone; a repeat of its request is a new try.
    @Test(arguments: Deployment.allCases)
    func `nothing is done for a client that has gone`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            _ = try site.ask("PUT", Self.lock, "1")
            let gone = try Self.acquiring(site, 2, key: "k")
            try site.awaitMetric("latchkey_watchers", 1)
            gone.close()
            try site.awaitMetric("latchkey_watchers", 0)
            _ = try site.ask("DELETE", Self.lock)
            #expect(try site.ask("GET", Self.lock).status == 404)
            let answer = try Self.acquiring(site, 2, key: "k").answer()
            #expect(answer.text.contains(#""succeeded":true"#))
            #expect(try site.ask("GET", Self.lock).text == "2")
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a client whose connection was cut asks again for what is left of its time`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            _ = try site.ask("PUT", Self.lock, "1")
            let cut = try Self.acquiring(site, 2, 60, key: "k")
            try site.awaitMetric("latchkey_watchers", 1)
            cut.close()
            let again = try Self.acquiring(site, 2, 30, key: "k")
            _ = try site.ask("DELETE", Self.lock)
            let answer = try again.answer()
            #expect(answer.text.contains(#""succeeded":true"#))
            // Its answer was lost, too.
            let last = try Self.acquiring(site, 2, 1, key: "k").answer()
            #expect(last.text == answer.text)
            #expect(last.headers["idempotency-replayed"] == "true")
            let other = try site.ask(
                "POST",
                "/v1/pop?prefix=a&wait=1",
                headers: ["Idempotency-Key: p"]
            )
            #expect(other.problem == "not-found")
            for (query, problem) in [
                ("prefix=a", "not-found"), ("prefix=b&wait=1", "idempotency-key-reused"),
            ] {
                let again = try site.ask(
                    "POST",
                    "/v1/pop?\(query)",
                    headers: ["Idempotency-Key: p"]
                )
                #expect(again.problem == problem)
            }
        }
    }

    /// Its first connection is open: a proxy can keep it for a client that has gone.
    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `a repeat that does not wait ends the wait of the first one`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            _ = try site.ask("PUT", Self.lock, "1")
            let ahead = try Self.acquiring(site, 2)
            try site.awaitMetric("latchkey_watchers", 1)
            let first = try Self.acquiring(site, 3, key: "k")
            try site.awaitMetric("latchkey_watchers", 2)
            // The same place in the line, with less time.
            let second = try Self.acquiring(site, 3, 59, key: "k")
            let last = try Self.acquiring(site, 3, 0, key: "k")
            let answer = try last.answer()
            #expect(answer.text.contains(#""succeeded":false"#))
            for earlier in [first, second] {
                #expect(try earlier.answer().text == answer.text)
            }
            _ = try site.ask("DELETE", Self.lock)
            #expect(try ahead.answer().text.contains(#""succeeded":true"#))
        }
    }

    /// Its request has two owners: the wait for the key, and the wait for the conditions.
    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `a repeat that waits for its key and then for its turn is given up, too`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            _ = try site.ask("PUT", Self.lock, "1")
            let first = try Self.acquiring(site, 2, key: "k")
            try site.awaitMetric("latchkey_watchers", 1)
            let others = try (0..<2).map { _ in try Self.acquiring(site, 2, key: "k") }
            try site.awaitMetric("latchkey_http_suspended_requests", 3)
            first.close()
            try site.awaitMetric("latchkey_http_suspended_requests", 2)
            try site.awaitMetric("latchkey_watchers", 1)
            for other in others { other.close() }
            try site.awaitMetric("latchkey_watchers", 0)
            _ = try site.ask("DELETE", Self.lock)
            #expect(try site.ask("GET", Self.lock).status == 404)
        }
    }

    /// A client that has gone does not ask for the branch at the end of the time.
    @Test func `the other branch is not taken for a client that has gone`() async throws {
        try await Deployment.inProcess.serve { site in
            let body = #"""
                {"if":[{"name":"none","absent":false}],"then":[],"else":[{"put":"late","value":1}]}
                """#
            let gone = try site.asking("POST", "/v1/transactions?wait=60", body)
            try site.awaitMetric("latchkey_watchers", 1)
            gone.close()
            try site.awaitMetric("latchkey_watchers", 0)
            #expect(try site.ask("GET", "/v1/properties/late").status == 404)
        }
    }

    /// A line that is refused as a whole would come back as a whole.
    @Test func `a full backlog does not end the waits of a line`() async throws {
        let flags = ["--backlog", "1", "--stripes", "1", "--strategy", "serial-queue-async"]
        try await Deployment.inProcess.serve(flags) { site in
            func insist(_ method: String, _ body: String?, _ status: Int) throws {
                while true {
                    let answer = try site.ask(method, Self.lock, body)
                    if answer.status == status { return }
                    try #require(answer.problem == "backlog-full")
                }
            }
            try insist("PUT", "0", 201)
            let waiting = try Self.line(site, 6)
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
                try insist("DELETE", nil, 204)
                let answer = try client.answer()
                #expect(answer.status == 200, "\(index): \(answer.text)")
            }
            #expect(refused.value > 0)
        }
    }

    /// The time to live counts from the first try: the answer can be that of this try.
    @Test func `a lease counts from its first try`() async throws {
        try await Deployment.inProcess.serve { site in
            let origin = "http://127.0.0.1:\(site.port)"
            let client = Client(ServiceConnection(origin: origin, timeLimit: .seconds(20)))
            let lock = LeaseClient(client, name: "a", timeToLive: .seconds(60), holder: "me")
            let attempt = lock.attempt(nil)
            let first = try lock.acquire(attempt, isCancelled: { false })
            let repeated = try lock.acquire(attempt, isCancelled: { false })
            #expect(first != nil && first == repeated)
        }
    }

    @Test func `a request that waits has a bounded body`() async throws {
        try await Deployment.inProcess.serve { site in
            for (count, problem) in [(64 * 1024, nil), (64 * 1024 + 1, "transaction-too-large")] {
                let start =
                    #"{"if":[{"name":"none","absent":true}],"then":[{"put":"a","value":""#
                let value = String(repeating: "x", count: count - start.utf8.count - 4)
                let body = start + value + #""}]}"#
                let answer = try site.ask("POST", "/v1/transactions?wait=9", body)
                #expect(answer.status == (problem == nil ? 200 : 422))
                #expect(answer.problem == problem)
            }
        }
    }

    /// Their time is not up: neither branch is taken.
    @Test(arguments: [Deployment.inProcess, .data])
    func `a drain refuses waiting requests, and executes none of them`(
        deployment: Deployment
    ) async throws {
        let late = #"""
            {"if":[{"name":"none","exists":true}],"then":[],"else":[{"put":"a","value":1}]}
            """#
        try await deployment.run { site, service in
            _ = try site.ask("PUT", Self.lock, "1")
            let watch = try site.stream("/v1/watch?initial=true")
            // The second one of a line waits for its turn.
            let waiting = [
                try Self.acquiring(site, 2, key: "k"), try Self.acquiring(site, 3),
                try site.asking("POST", "/v1/pop?prefix=none/&wait=60"),
                try site.asking("POST", "/v1/transactions?wait=60", late),
            ]
            try site.awaitMetric("latchkey_watchers", 5)
            service.drain()
            for client in waiting {
                let answer = try client.answer()
                #expect(answer.status == 503 && answer.problem == "draining", "\(answer.text)")
                #expect(answer.headers["retry-after"] == "1")
            }
            #expect(try watch.events { _ in false }.map(\.type) == ["put", "ready", "close"])
        }
    }

    @Test(arguments: Deployment.allCases)
    func `each job is done by one worker, also if its first worker dies`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            let pop = "/v1/pop?prefix=jobs/&claim=claims/&ttl=0.3&wait=20"
            let waiting = try site.asking("POST", pop)
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
            let answer = try site.ask("POST", "/v1/transactions", done, headers: Self.json)
            #expect(answer.text.contains(#""succeeded":true"#))
            #expect(try client.request("GET", "/v1/count").text.hasPrefix(#"{"count":0,"#))
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
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
            let tag = [#"If-Match: "7""#]
            let other = try site.ask("POST", "/v1/properties/lease/touch?ttl=9", headers: tag)
            #expect(other.problem == "precondition-failed")
            #expect(try client.request("POST", "/v1/properties/x/touch?ttl=9").status == 404)
            #expect(try client.request("POST", "/v1/properties/x/touch").status == 400)
            let changes = try client.request("GET", "/v1/changes").text
            #expect(changes.split(separator: #""type""#).count == 2, "the put alone is a change")
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
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
            for (limit, counts) in [
                ("&limit=2", #""count":2,"more":true,"revision":5"#),
                ("", #""count":1,"more":false,"revision":6"#),
                ("", #""count":0,"more":false,"revision":6"#),
            ] {
                #expect(try text("DELETE", "/v1/properties?prefix=a/\(limit)") == "{\(counts)}")
            }
            #expect(try text("GET", "/v1/count") == #"{"count":1,"revision":6}"#)
            let most = (0..<128).map { "name=n\($0)" }.joined(separator: "&")
            #expect(try client.request("GET", "/v1/properties?\(most)").status == 200)
            for (method, path, queries) in [
                ("GET", "/v1/properties", ["?name=a&\(most)"]),
                (
                    "DELETE", "/v1/properties",
                    ["", "?prefix=", "?prefix=a&limit=0", "?prefix=a&limit=1001"]
                ),
                (
                    "POST", "/v1/pop",
                    [
                        "", "?prefix=a&claim=b", "?prefix=a&ttl=5", "?prefix=a&claim=ab&ttl=5",
                        "?prefix=ab&claim=a&ttl=5", "?prefix=a&wait=61",
                    ]
                ),
            ] {
                for query in queries {
                    #expect(try client.request(method, path + query).status == 400, "\(query)")
                }
            }
        }
    }

    @Test func `a limit starts again when its time is over, not with each request`() async throws {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            let target = "/v1/properties/rate/increment?ttl-if-new=60"
            #expect(try client.request("POST", target).text == "1")
            func left() throws -> String? {
                try client.request("GET", "/v1/properties/rate").headers["latchkey-ttl"]
            }
            let first = try left()
            try eventually("the time to live goes on") { try left() != first }
            #expect(try client.request("POST", target).text == "2")
            let second = try left()
            #expect(Double(second ?? "") ?? 99 < Double(first ?? "") ?? 0)
            let both = "/v1/properties/rate/increment?ttl-if-new=60&ttl=60"
            #expect(try client.request("POST", both).status == 400)
            // A short limit ends, though there are requests all the time.
            let short = "/v1/properties/short/increment?ttl-if-new=0.2"
            var (former, count) = (0, try #require(try Int(client.request("POST", short).text)))
            while count > former {
                former = count
                count = try #require(try Int(client.request("POST", short).text))
            }
            #expect(count == 1)
        }
    }
}
