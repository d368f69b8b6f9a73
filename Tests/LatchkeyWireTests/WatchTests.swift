import Foundation
import LatchkeyComparison
import LatchkeyTestSupport
import Testing

/// Watches over HTTP.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct WatchTests {
    /// All effects that the history holds, as the events that a watcher of all names gets.
    private static func history(_ site: Site) throws -> [String] {
        var after = 0
        var events: [String] = []
        while true {
            let answer = try site.ask("GET", "/v1/changes?after=\(after)&limit=1000")
            let page = try #require(answer.json as? [String: Any])
            for change in try #require(page["changes"] as? [[String: Any]]) {
                let revision = try #require(change["revision"] as? Int)
                let effects = try #require(change["effects"] as? [[String: Any]])
                events += effects.enumerated().map { index, effect in
                    let isLast = index == effects.count - 1
                    let value = effect["value"].map { "\($0)" } ?? ""
                    return "\(effect["type"] ?? "") \(effect["name"] ?? "") \(revision) \(value) "
                        + (isLast ? "\(revision)" : "\(revision).\(index + 1)")
                }
            }
            guard page["hasMore"] as? Bool == true else { return events }
            after = try #require(page["next"] as? Int)
        }
    }

    private static func text(_ event: EventStreamParser.Event) throws -> String {
        let data = try JSONSerialization.jsonObject(with: Data(event.data.utf8))
        let object = try #require(data as? [String: Any])
        let value = object["value"].map { "\($0)" } ?? ""
        return "\(event.type) \(object["name"] ?? "") \(object["revision"] ?? "") \(value) "
            + event.id
    }

    /// Puts, increments, deletions and transactions on a few names.
    private static func write(_ site: Site, count: Int, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let client = try site.client()
        for _ in 0..<count {
            let names = ["a", "b", "c", "d"].shuffled(using: &random)
            let path = "/v1/properties/\(names[0])"
            switch Int.random(in: 0..<5, using: &random) {
            case 0: _ = try client.request("DELETE", path)
            case 1:
                let body = """
                    {"then":[{"increment":"\(names[1])"},{"delete":"\(names[2])"},\
                    {"increment":"\(names[3])"}]}
                    """
                let answer = try client.request("POST", "/v1/transactions", body: Array(body.utf8))
                #expect(answer.status == 200)
            default: _ = try client.request("POST", "\(path)/increment")
            }
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a client that is cut off anywhere loses and repeats nothing`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let writers = (1...3).map { seed in
                TestThread {
                    do {
                        try Self.write(site, count: 200, seed: UInt64(seed))
                        _ = try site.ask("POST", "/v1/properties/done/increment")
                    } catch {
                        Issue.record(error)
                    }
                }
            }
            var random = SeededRandom(seed: 5)
            var lastID = "0"
            var events: [EventStreamParser.Event] = []
            var doneCount = 0
            while doneCount < 3 {
                let client = try site.stream("/v1/watch", lastID: lastID)
                #expect(client.status == 200)
                for _ in 0..<Int.random(in: 1...20, using: &random) where doneCount < 3 {
                    let count = Int.random(in: 1...400, using: &random)
                    let found = try #require(try client.read(countMax: count))
                    doneCount += found.count { $0.data.contains(#""name":"done""#) }
                    events += found
                }
                lastID = client.lastID
                client.close()
            }
            for writer in writers { writer.join() }
            #expect(try events.map(Self.text) == Self.history(site), "seeds 1, 2, 3 and 5")
        }
    }

    @Test(arguments: Deployment.allCases)
    func `a shown revision is the next event after the one before`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            for round in 1...50 {
                let answer = try client.request("POST", "/v1/properties/n/increment")
                let revision = try #require(
                    answer.headers["etag"].flatMap { Int($0.dropFirst().dropLast()) }
                )
                let watch = try site.stream("/v1/watch?name=n&after=\(revision - 1)")
                let event = try #require(try watch.next())
                #expect(event.id == "\(revision)")
                #expect(event.data.contains("\"value\":\(round)}"))
                let changes = try site.ask("GET", "/v1/changes?after=\(revision - 1)")
                #expect(changes.text.contains("\"revision\":\(revision),\"time\""))
                let past = try site.ask("GET", "/v1/properties/n?revision=\(revision)")
                #expect(past.text == "\(round)")
            }
        }
    }

    @Test(arguments: Deployment.allCases)
    func `the state, the end of it, and the changes after it`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            for name in ["b", "a", "c", "a%2F1"] {
                _ = try client.request("PUT", "/v1/properties/\(name)", body: Array("[1,\n2]".utf8))
            }
            let watch = try site.stream("/v1/watch?initial=true&prefix=a")
            #expect(watch.headers["content-type"] == "text/event-stream")
            #expect(watch.headers["cache-control"] == "no-store")
            #expect(watch.headers["x-accel-buffering"] == "no")
            let state = try watch.events { $0.type == "ready" }
            #expect(
                state.map(\.data) == [
                    #"{"name":"a","revision":2,"created":2,"value":[1, 2]}"#,
                    #"{"name":"a/1","revision":4,"created":4,"value":[1, 2]}"#, #"{"revision":4}"#,
                ]
            )
            #expect(state.map(\.id) == ["", "", "4"])
            _ = try client.request("DELETE", "/v1/properties/b")
            _ = try client.request("DELETE", "/v1/properties/a")
            _ = try client.request("PUT", "/v1/properties/ab?ttl=0.05", body: [0x31])
            let changes = try watch.events { $0.type == "expire" }
            #expect(changes.map(\.type) == ["delete", "put", "expire"])
            #expect(changes[0].data == #"{"name":"a","revision":6,"reason":"deleted"}"#)
            #expect(changes[1].data.contains(#""value":1,"ttl":0.0"#))
            #expect(changes[2].data == #"{"name":"ab","revision":8}"#)
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `lost history and foreign cursors are a gap`(deployment: Deployment) async throws {
        // Three of these changes.
        try await deployment.serve(["--history-bytes", "800"]) { site in
            let client = try site.client()
            for _ in 0..<9 { _ = try client.request("POST", "/v1/properties/n/increment") }
            for (target, lastID) in [
                ("?after=2", nil), ("?after=10", nil), ("?after=7", "10"), ("", "garbage"),
                ("?initial=true", "10.1"), ("", "18446744073709551615"),
            ] as [(String, String?)] {
                let watch = try site.stream("/v1/watch\(target)", lastID: lastID)
                let events = try watch.events { $0.type == "ready" }
                #expect(events.map(\.type) == ["gap", "put", "ready"], "\(target) \(lastID ?? "")")
                #expect(events.first?.data == #"{"revision":9,"oldest":6}"#)
            }
            let watch = try site.stream("/v1/watch?after=1", lastID: "6")
            #expect(try watch.events { $0.id == "9" }.map(\.id) == ["7", "8", "9"])
            let metrics = try site.ask("GET", "/metrics").text
            #expect(metrics.contains("\nlatchkey_watch_gaps_total 6\n"))
            #expect(metrics.contains("\nlatchkey_journal_commits 3\n"))
        }
    }

    @Test func `a slow reader slows no other, and starts again with a gap`() async throws {
        // Twenty of these values.
        let flags = ["--history-bytes", "2700000"]
        try await Deployment.inProcess.serve(flags, limits: "watch-buffer-bytes=1024") { site in
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/n", body: [0x30])
            let slow = try site.stream("/v1/watch?after=0")
            let fast = try site.stream("/v1/watch?after=1")
            let first = try #require(try slow.next())
            #expect(first.id == "1")
            // More than the buffers of both sockets hold, with what the kernel adds.
            let value = Array("\"\(String(repeating: "x", count: 100_000))\"".utf8)
            for revision in 2...201 {
                #expect(try client.request("PUT", "/v1/properties/n", body: value).status == 204)
                #expect(try fast.next()?.id == "\(revision)")
            }
            let rest = try slow.events { _ in false }
            #expect(rest.map(\.id) == (2..<rest.count + 2).map { "\($0)" })
            #expect(rest.count < 200)
            let again = try site.stream("/v1/watch", lastID: slow.lastID)
            #expect(try again.next()?.type == "gap")
        }
    }

    @Test func `observers replace each other, and watchers have a bound`() async throws {
        try await Deployment.inProcess.serve(["--max-watchers", "2", "--client-share", "1/1"]) {
            site in
            let first = try site.stream("/v1/watch?observer=x")
            let second = try site.stream("/v1/watch?observer=x")
            #expect(try first.next()?.type == "replaced")
            #expect(try first.next() == nil)
            _ = try site.ask("POST", "/v1/properties/n/increment")
            #expect(try second.next()?.type == "put")
            // The first one gives its place back after the end of its stream.
            try site.awaitMetric("latchkey_watchers", 1)
            let third = try site.stream("/v1/watch?observer=y")
            #expect(third.status == 200)
            var refused = try site.ask("GET", "/v1/watch")
            #expect(refused.problem == "too-many-watchers")
            #expect(refused.headers["retry-after"] == "1")
            refused = try site.ask("GET", "/v1/properties/n?after=1&wait=1")
            #expect(refused.problem == "too-many-watchers")
            #expect(try site.ask("GET", "/v1/properties/n?after=0&wait=1").status == 200)
            third.close()
            // The server notices the end of the client by itself.
            try site.awaitMetric("latchkey_watchers", 1)
            let fourth = try site.stream("/v1/watch?initial=true")
            #expect(try fourth.next()?.type == "put")
        }
    }

    @Test func `an idle stream gets comments`() async throws {
        try await Deployment.inProcess.serve(limits: "keep-alive-seconds=1") { site in
            let watch = try site.stream("/v1/watch?name=mine")
            _ = try site.ask("POST", "/v1/properties/other/increment")
            while watch.commentCount < 2 {
                _ = try #require(try watch.read(countMax: 1000))
            }
            #expect(watch.lastID == "1", "the cursor follows what does not match")
        }
    }

    /// The time of a poll is not up: 304 would say that nothing changes until then.
    @Test func `a drain ends streams with a last event, and refuses polls`() async throws {
        try await Deployment.inProcess.run { site, service in
            _ = try site.ask("POST", "/v1/properties/n/increment")
            let watch = try site.stream("/v1/watch")
            let polls = try ["n?after=1", "none?after=0"].map {
                try site.asking("GET", "/v1/properties/\($0)&wait=60")
            }
            try site.awaitMetric("latchkey_watchers", 3)
            service.drain()
            #expect(try watch.events { _ in false }.map(\.type) == ["close"])
            for poll in polls {
                let answer = try poll.answer()
                #expect(answer.status == 503 && answer.problem == "draining")
                #expect(answer.headers["retry-after"] == "1")
            }
        }
    }

    @Test func `bad watches are refused`() async throws {
        try await Deployment.inProcess.serve { site in
            let parts = (0..<16).map { $0 % 2 == 0 ? "name=\($0)" : "prefix=\($0)" }
            let most = parts.joined(separator: "&")
            #expect(try site.stream("/v1/watch?\(most)").status == 200)
            for query in [
                "\(most)&name=a", "previous=1", "previous=true&previous=true", "after=-1",
                "after=x", "after=1.2.3", "after=0&initial=true",
                "initial=yes", "observer=", "observer=a%20b", "observer=%C3%A4",
                "observer=\(String(repeating: "x", count: 129))", "limit=1", "after=1&after=2",
                "prefix=\(String(repeating: "x", count: 257))",
            ] {
                let answer = try site.ask("GET", "/v1/watch?\(query)")
                #expect(answer.problem == "invalid-query", "\(query)")
                #expect(answer.status == 400)
            }
            #expect(try site.ask("GET", "/v1/watch?name=").problem == "invalid-name")
            #expect(try site.ask("GET", "/v1/watch?name=%01").problem == "invalid-name")
            let post = try site.ask("POST", "/v1/watch")
            #expect(post.status == 405)
            #expect(post.headers["allow"] == "GET, HEAD, OPTIONS")
            let head = try site.ask("HEAD", "/v1/watch?initial=true")
            #expect(head.status == 200)
            #expect(head.headers["content-type"] == "text/event-stream")
            let long = "observer=\(String(repeating: "x", count: 128))"
            #expect(try site.stream("/v1/watch?\(long)").status == 200)
            #expect(try site.ask("GET", "/metrics").text.contains("latchkey_watchers"))
        }
    }
}
