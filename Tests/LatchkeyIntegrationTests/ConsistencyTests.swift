import Foundation
import LatchkeyTestSupport
import Testing

/// Three replicas of a cluster over one etcd, as processes.
///
/// SAFETY: `@unchecked Sendable` because one test uses it, one call after the other.
private final class ClusterOfThree: @unchecked Sendable {
    let etcd: EtcdProcesses
    private let folder: TemporaryFolder
    let programs: [Program]
    let sites: [Site]

    init() throws {
        let etcd = try EtcdProcesses()
        let folder = try TemporaryFolder()
        self.etcd = etcd
        self.folder = folder
        programs = try (0..<3).map { number in
            try Program(
                Replication.quiet + [
                    "0", "--cluster", etcd.addresses.joined(separator: ","),
                    "--data", "\(folder.path)/\(number)",
                ]
            )
        }
        sites = try programs.map { Site(port: try $0.awaitPort()) }
    }
}

extension HTTPAnswer {
    /// The revision of the property, by its tag.
    fileprivate var revision: UInt64? {
        headers["etag"].flatMap { UInt64($0.filter(\.isNumber)) }
    }
}

/// Reads that wait: `consistency` and `min-revision`.
@Suite(.timeLimit(.minutes(5)))
struct ConsistencyTests {
    private static let readers = [
        "/v1/properties/a", "/v1/properties", "/v1/properties?name=a", "/v1/count", "/v1/changes",
        "/v1/properties/a?after=0&wait=1", "/v1/export",
    ]

    private static func target(_ path: String, _ query: String) -> String {
        path + (path.contains("?") ? "&" : "?") + query
    }

    private static func put(_ number: Int, at client: HTTPClient) throws -> HTTPAnswer {
        try client.request("PUT", "/v1/properties/a", body: Array("\(number)".utf8))
    }

    @Test func `a service alone has what every read asks for`() async throws {
        try await offPool {
            let program = try Program(Replication.quiet + ["0"])
            let site = Site(port: try program.awaitPort())
            let put = try site.ask("PUT", "/v1/properties/a", "1")
            let revision = try #require(put.revision)
            for path in Self.readers {
                let plain = try site.ask("GET", path)
                for query in [
                    "consistency=local", "consistency=linearizable", "min-revision=\(revision)",
                    "min-revision=0", "consistency=linearizable&min-revision=\(revision)",
                ] {
                    let target = Self.target(path, query)
                    let answer = try site.ask("GET", target)
                    #expect(answer.status == 200 && answer.body == plain.body, "\(target)")
                    #expect(answer.headers["latchkey-age"] == nil)
                    #expect(try site.ask("HEAD", target).status == 200, "\(target)")
                }
                for query in [
                    "consistency=strong", "consistency=local&consistency=local", "min-revision=x",
                    "consistenc%79=local", "consistency", "consistency=local&other=1",
                ] {
                    let target = Self.target(path, query)
                    let answer = try site.ask("GET", target)
                    #expect(answer.problem == "invalid-query", "\(target)")
                }
            }
            let watch = try EventStreamClient(
                port: site.port,
                "/v1/watch?initial=true&consistency=linearizable&min-revision=\(revision)"
            )
            #expect(try watch.next()?.id != nil)
            for (method, path) in [
                ("PUT", "/v1/properties/a"), ("DELETE", "/v1/properties/a"),
                ("POST", "/v1/properties/a/increment"), ("GET", "/v1/strategies"),
            ] {
                let body = method == "PUT" ? "1" : nil
                let target = path + "?consistency=linearizable"
                #expect(try site.ask(method, target, body).problem == "invalid-query", "\(target)")
            }
            #expect(try site.ask("GET", "/v1/properties").headers["latchkey-revision"] == nil)
            #expect(program.end() == 0)
        }
    }

    @Test func `a read waits for a revision, in a place of its own, and gives up`() async throws {
        try await offPool {
            let program = try Program(Replication.quiet + ["0", "--max-watchers", "2"])
            let site = Site(port: try program.awaitPort())
            let revision = try #require(try site.ask("PUT", "/v1/properties/a", "1").revision)
            let path = "/v1/properties/a?min-revision="
            let end = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let next = "GET \(path)\(revision + 2)\(end)"
            // Its client goes.
            let leaving = try (UInt8(1)...2).map { number in
                let client = try site.client(from: number)
                try client.send(next)
                try site.awaitMetric("latchkey_watchers", Int(number))
                return client
            }
            let target = "/v1/count?min-revision=\(revision + 2)"
            #expect(try site.ask("GET", target, from: 3).problem == "too-many-watchers")
            for client in leaving { client.close() }
            try site.awaitMetric("latchkey_watchers", 0)
            // It comes, by a commit that is no event of the property.
            let waiting = try site.client()
            try waiting.send(next)
            try site.awaitMetric("latchkey_watchers", 1)
            #expect(try site.ask("PUT", "/v1/properties/b?ttl=100", "1").revision == revision + 1)
            #expect(try site.ask("POST", "/v1/properties/b/touch?ttl=100").status == 204)
            #expect(try waiting.answer().status == 200)
            try site.awaitMetric("latchkey_watchers", 0)
            // It does not come.
            let start = ContinuousClock.now
            let late = try site.ask("GET", "/v1/properties/a?min-revision=\(revision + 9)&after=0")
            #expect(late.problem == "not-level" && late.status == 503)
            #expect(late.headers["retry-after"] == "1")
            let time = start.duration(to: .now)
            #expect(time > .seconds(4.5) && time < .seconds(30), "\(time)")
            // The service ends.
            try waiting.send("GET \(path)\(revision + 9)\(end)")
            try site.awaitMetric("latchkey_watchers", 1)
            program.signal(SIGTERM)
            #expect(try waiting.answer().problem == "draining")
            #expect(program.wait() == 0)
        }
    }

    @Test func `a replica that follows has the revisions that are asked for, and no more`()
        async throws
    {
        try await offPool {
            let pair = try Replication()
            let leader = try pair.source.client()
            let copy = try pair.copy.client()
            for number in 0..<200 {
                let put = try Self.put(number, at: leader)
                let revision = try #require(put.revision)
                let path = number % 2 == 0 ? "/v1/properties/a" : "/v1/properties"
                let read = try copy.request("GET", "\(path)?min-revision=\(revision)")
                #expect(read.text.contains(number % 2 == 0 ? "\(number)" : #""value":\#(number)"#))
                let age = try #require(read.headers["latchkey-age"].flatMap { Double($0) })
                // Counted from behind the wait, which takes a pause of the follower.
                #expect(age < 5)
            }
            for path in Self.readers {
                let answer = try copy.request(
                    "GET",
                    Self.target(path, "consistency=linearizable")
                )
                #expect(answer.status == 421 && answer.problem == "not-leader", "\(path)")
                #expect(answer.headers["latchkey-leader"] == "http://127.0.0.1:\(pair.source.port)")
                let local = Self.target(path, "consistency=local")
                #expect(try copy.request("GET", local).status == 200)
            }
            try pair.awaitLevel()
            let revision = try #require(try leader.request("GET", "/v1/properties/a").revision)
            for path in ["/v1/properties/a", "/v1/properties", "/v1/count", "/v1/export"] {
                let answer = try copy.request("GET", path)
                #expect(answer.headers["latchkey-revision"] == "\(revision)", "\(path)")
            }
            pair.leader.signal(SIGSTOP)
            let late = try copy.request("GET", "/v1/properties/a?min-revision=\(revision + 1)")
            #expect(late.problem == "not-level")
            #expect(try pair.copy.ask("POST", "/v1/promote").status == 200)
            let own = try pair.copy.ask("GET", "/v1/properties/a?consistency=linearizable")
            #expect(own.status == 200 && own.headers["latchkey-revision"] == nil)
            #expect(pair.replica.end() == 0)
        }
    }

    @Test func `a linearizable read at another replica sees each write before it`() async throws {
        try await offPool {
            let cluster = try ClusterOfThree()
            let clients = try cluster.sites.map { try $0.client() }
            var lateCount = 0
            for number in 0..<300 {
                let writer = number % 3
                let reader = (number + 1 + number / 3 % 2) % 3
                let put = try Self.put(number, at: clients[writer])
                #expect(put.status == (number == 0 ? 201 : 204))
                let path = ["/v1/properties/a", "/v1/properties", "/v1/export"][number % 7 % 3]
                let start = ContinuousClock.now
                let read = try clients[reader].request("GET", path + "?consistency=linearizable")
                #expect(read.status == 200)
                if start.duration(to: .now) >= .seconds(4) { lateCount += 1 }
                #expect(read.revision.map { $0 == put.revision } ?? true)
                let isValue = path == "/v1/properties/a"
                let text = isValue ? "\(number)" : #""value":\#(number)"#
                #expect(read.text.contains(text), "\(path)")
                let seen = read.headers["latchkey-revision"].flatMap { UInt64($0) } ?? 0
                #expect(try seen >= #require(put.revision))
            }
            // Answers to the questions have ended the waits, and not their time of 5 s. A pause of
            // a busy machine can hold some of them.
            #expect(lateCount <= 3)
            for program in cluster.programs { #expect(program.end() == 0) }
        }
    }

    @Test func `a read of a revision at another replica is never stale`() async throws {
        try await offPool {
            let cluster = try ClusterOfThree()
            let clients = try cluster.sites.map { try $0.client() }
            for number in 0..<300 {
                let put = try Self.put(number, at: clients[number % 3])
                let revision = try #require(put.revision)
                let read = try clients[(number + 1) % 3]
                    .request("GET", "/v1/properties/a?min-revision=\(revision)")
                #expect(read.text == "\(number)" && read.revision == revision)
            }
            for program in cluster.programs { #expect(program.end() == 0) }
        }
    }

    @Test func `a replica that was stopped answers with what was written meanwhile`()
        async throws
    {
        try await offPool {
            let cluster = try ClusterOfThree()
            let writer = try cluster.sites[0].client()
            let reader = try cluster.sites[1].client()
            for number in 0..<20 {
                cluster.programs[1].signal(SIGSTOP)
                let put = try Self.put(number, at: writer)
                let revision = try #require(put.revision)
                let query =
                    number % 2 == 0 ? "consistency=linearizable" : "min-revision=\(revision)"
                try reader.send("GET /v1/properties/a?\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                cluster.programs[1].signal(SIGCONT)
                let read = try reader.answer()
                #expect(read.text == "\(number)" && read.revision == revision, "\(query)")
            }
            for program in cluster.programs { #expect(program.end() == 0) }
        }
    }

    @Test func `without a quorum a linearizable read is refused in time, and others are not`()
        async throws
    {
        try await offPool {
            let cluster = try ClusterOfThree()
            let client = try cluster.sites[0].client()
            #expect(try Self.put(1, at: client).status == 201)
            cluster.etcd.signal(0, SIGSTOP)
            var times: [Duration] = []
            for _ in 0..<3 {
                let start = ContinuousClock.now
                let read = try client.request("GET", "/v1/properties/a?consistency=linearizable")
                #expect(read.status == 503 && read.problem == "not-level", "\(read)")
                #expect(read.headers["retry-after"] == "1")
                times.append(start.duration(to: .now))
                #expect(try client.request("GET", "/v1/properties/a").text == "1")
            }
            #expect(try #require(times.min()) < .seconds(6))
            cluster.etcd.signal(0, SIGCONT)
            try eventually("etcd answers again") {
                try client.request("GET", "/v1/properties/a?consistency=linearizable").text == "1"
            }
            for program in cluster.programs { #expect(program.end() == 0) }
        }
    }
}
