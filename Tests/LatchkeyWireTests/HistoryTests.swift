import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Long polls, past values, and the list of changes.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct HistoryTests {
    @Test(arguments: Deployment.allCases)
    func `a poll ends with the change that it waits for`(deployment: Deployment) async throws {
        try await deployment.serve { site in
            for (round, change) in ["create", "replace", "delete"].enumerated() {
                let poll = try site.client()
                let target = "/v1/properties/n?after=\(round)&wait=20"
                try poll.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                try site.awaitMetric("latchkey_watchers", 1)
                let writer = try site.client()
                if change == "delete" {
                    _ = try writer.request("DELETE", "/v1/properties/n")
                    #expect(try poll.answer().status == 404)
                } else {
                    _ = try writer.request("PUT", "/v1/properties/n", body: Array("\(round)".utf8))
                    let answer = try poll.answer()
                    #expect(answer.status == 200)
                    #expect(answer.text == "\(round)")
                    #expect(answer.headers["etag"] == "\"\(round + 1)\"")
                }
            }
            try site.awaitMetric("latchkey_watchers", 0)
        }
    }

    /// A snapshot would enter all stripes.
    @Test(arguments: Deployment.allCases)
    func `the past of a name that is not there is a read of one name`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let client = try site.client()
            _ = try client.request("PUT", "/v1/properties/gone", body: [0x31])
            _ = try client.request("DELETE", "/v1/properties/gone")
            _ = try client.request("PUT", "/v1/properties/brief?ttl=0.05", body: [0x32])
            func entries() throws -> Int {
                let metrics = try client.request("GET", "/metrics").text
                let lines = metrics.split(separator: "\n").filter {
                    $0.hasPrefix("latchkey_lock_acquisitions_total{")
                }
                return lines.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
                    .reduce(0, +)
            }
            let before = try entries()
            for _ in 0..<10 {
                #expect(try client.request("GET", "/v1/properties/none?revision=1").status == 404)
                #expect(try client.request("GET", "/v1/properties/gone?revision=1").text == "1")
                #expect(try client.request("GET", "/v1/properties/gone?revision=2").status == 404)
                #expect(try client.request("GET", "/v1/properties/brief?revision=3").text == "2")
            }
            let count = try entries() - before
            #expect(count < 100, "\(count) acquisitions")
        }
    }

    @Test func `a poll answers at once, or when its time is up`() async throws {
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            func ask(_ query: String, _ name: String = "n") throws -> HTTPAnswer {
                try client.request("GET", "/v1/properties/\(name)?\(query)")
            }
            _ = try client.request("PUT", "/v1/properties/n", body: [0x31])
            #expect(try ask("after=0&wait=60").text == "1")
            #expect(try ask("after=0").text == "1")
            #expect(try ask("after=1&wait=60", "none").status == 404)
            // No answer has shown such a revision: it is of another store.
            #expect(try ask("after=2&wait=60").problem == "gone")
            #expect(try ask("after=2", "none").problem == "gone")
            for query in [
                "after=1&wait=0.2", "after=1", "after=1&wait=0", "after=1&wait=0.0",
                "after=1&wait=0.0001", "after=1&wait=5e-05", "after=1&wait=1.5E-3",
            ] {
                let start = ContinuousClock.now
                let answer = try ask(query)
                #expect(answer.status == 304, "\(query)")
                #expect(answer.headers["etag"] == "\"1\"")
                if query == "after=1&wait=0.2" {
                    #expect(ContinuousClock.now - start >= .milliseconds(180), "a sixteenth less")
                }
            }
            #expect(try ask("after=0&wait=0.1", "none").status == 404)
            let head = try client.request("HEAD", "/v1/properties/n?after=0&wait=1")
            #expect(head.status == 200)
            for query in [
                "wait=1", "after=1&wait=61", "after=1&wait=-1", "after=1&wait=x", "after=-1",
                "after=1.1", "revision=1&after=1", "revision=x", "revision=1.1", "other=1",
                "after=1&wait=7e1", "after=1&wait=1e999", "after=1&wait=%2B1", "after=1&wait=e1",
            ] {
                #expect(try ask(query).problem == "invalid-query", "\(query)")
            }
        }
    }

    /// The service does not see a client behind a proxy leave: so the poll ends early, and a client
    /// asks again.
    @Test func `a read that waits behind a proxy is short, and a pop is not`() async throws {
        let flags = ["--trusted-proxy", "127.0.0.2"]
        try await Deployment.inProcess.serve(flags, limits: "read-behind-proxy-seconds=1") { site in
            _ = try site.ask("PUT", "/v1/properties/n", "1")
            let pop = try site.asking("POST", "/v1/pop?prefix=jobs/&wait=60", from: 2)
            let direct = try site.asking("GET", "/v1/properties/n?after=1&wait=60")
            try site.awaitMetric("latchkey_watchers", 2)
            let short = try site.ask("GET", "/v1/properties/n?after=1&wait=60", from: 2)
            #expect(short.status == 304)
            let target = "/v1/properties/n?after=1&min-revision=99&wait=60"
            #expect(try site.ask("GET", target, from: 2).problem == "not-level")
            try site.awaitMetric("latchkey_watchers", 2)
            #expect(try site.ask("PUT", "/v1/properties/jobs%2F1", "1").status == 201)
            #expect(try pop.answer().status == 200)
            #expect(try site.ask("PUT", "/v1/properties/n", "2").status == 204)
            #expect(try direct.answer().text == "2")
        }
    }

    @Test(arguments: Deployment.allCases)
    func `past values are those that were shown`(deployment: Deployment) async throws {
        // The first six of these changes, and not the seventh beside them.
        try await deployment.serve(["--history-bytes", "1400"]) { site in
            let client = try site.client()
            func read(_ revision: Int, _ name: String = "n") throws -> HTTPAnswer {
                try client.request("GET", "/v1/properties/\(name)?revision=\(revision)")
            }
            // Revisions: 1 n=1, 2 other, 3 n=2, 4 n deleted, 5 other, 6 n=1 again.
            for path in ["n", "other", "n", "-n", "other", "n"] {
                if path == "-n" {
                    _ = try client.request("DELETE", "/v1/properties/n")
                } else {
                    _ = try client.request("POST", "/v1/properties/\(path)/increment")
                }
            }
            #expect(try read(0).problem == "not-found")
            for (revision, text, tag) in [(1, "1", 1), (2, "1", 1), (3, "2", 3), (6, "1", 6)] {
                let answer = try read(revision)
                #expect(answer.text == text)
                #expect(answer.headers["etag"] == "\"\(tag)\"")
            }
            #expect(try read(4).problem == "not-found")
            #expect(try read(5).problem == "not-found")
            #expect(try read(3, "other").text == "1")
            #expect(try read(0, "never").problem == "not-found")
            #expect(try read(7).problem == "gone")
            #expect(try read(7).status == 410)
            _ = try client.request("POST", "/v1/properties/other/increment")
            #expect(try read(0).problem == "gone")
            #expect(try read(1).text == "1")
            let same = try client.request(
                "GET",
                "/v1/properties/n?revision=3",
                headers: ["If-None-Match: \"3\""]
            )
            #expect(same.status == 304)
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `changes come in pages`(deployment: Deployment) async throws {
        // The last ten of these changes.
        try await deployment.serve(["--history-bytes", "2600"]) { site in
            let client = try site.client()
            func page(_ query: String) throws -> [String: Any] {
                let answer = try client.request("GET", "/v1/changes?\(query)")
                #expect(answer.status == 200, "\(query)")
                return try #require(answer.json as? [String: Any])
            }
            func revisions(_ page: [String: Any]) throws -> [Int] {
                try #require(page["changes"] as? [[String: Any]]).compactMap {
                    $0["revision"] as? Int
                }
            }
            let empty = try client.request("GET", "/v1/changes").text
            #expect(empty == #"{"revision":0,"changes":[],"next":0,"hasMore":false}"#)
            for index in 1...12 {
                let name = index % 3 == 0 ? "third" : "other"
                _ = try client.request("POST", "/v1/properties/\(name)/increment")
            }
            var page1 = try page("limit=4")
            #expect(try revisions(page1) == [3, 4, 5, 6])
            #expect(page1["next"] as? Int == 6)
            #expect(page1["hasMore"] as? Bool == true)
            page1 = try page("after=6&limit=1000")
            #expect(try revisions(page1) == [7, 8, 9, 10, 11, 12])
            #expect(page1["hasMore"] as? Bool == false)
            page1 = try page("prefix=thi&limit=2")
            #expect(try revisions(page1) == [3, 6])
            #expect(try revisions(page("prefix=none")) == [])
            #expect(try revisions(page("after=12")) == [])
            for after in [0, 1, 13] {
                let answer = try client.request("GET", "/v1/changes?after=\(after)")
                #expect(answer.problem == "gone", "\(after)")
            }
            for query in ["after=x", "limit=0", "limit=1001", "after=-1", "name=a"] {
                let answer = try client.request("GET", "/v1/changes?\(query)")
                #expect(answer.problem == "invalid-query", "\(query)")
            }
            let text = try client.request("GET", "/v1/changes?after=11").text
            let time = #/"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/#
            #expect(text.contains(time))
            #expect(text.contains(#"[{"type":"put","name":"third","created":3,"value":4}]"#))
        }
    }
}
