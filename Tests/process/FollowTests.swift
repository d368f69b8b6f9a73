import Foundation
import LatchkeyTestSupport
import Testing

/// A leader and a replica, as processes.
///
/// SAFETY: `@unchecked Sendable` because one test uses it, one call after the other.
final class Replication: @unchecked Sendable {
    private(set) var leader: Program
    private(set) var source: Site
    private(set) var replica: Program
    private(set) var copy: Site

    static let quiet = ["serve", "--log-level", "error", "--port"]

    init(leader flags: [String] = [], replica replicaFlags: [String] = []) throws {
        leader = try Program(Self.quiet + ["0"] + flags)
        source = Site(port: try leader.awaitPort())
        replica = try Program(
            Self.quiet + ["0", "--follow", "http://127.0.0.1:\(source.port)"] + replicaFlags
        )
        copy = Site(port: try replica.awaitPort())
    }

    /// Kills the leader, and starts it again on its port.
    func restartLeader(_ flags: [String] = []) throws {
        leader.signal(SIGKILL)
        _ = leader.wait()
        leader = try Program(Self.quiet + ["\(source.port)"] + flags)
        _ = try leader.awaitPort()
    }

    /// Kills the replica, and starts it again.
    func restartReplica() throws {
        replica.signal(SIGKILL)
        _ = replica.wait()
        replica = try Program(
            Self.quiet + ["0", "--follow", "http://127.0.0.1:\(source.port)"]
        )
        copy = Site(port: try replica.awaitPort())
    }

    /// The state, with all that a replica keeps of each property.
    static func state(_ site: Site) throws -> [String] {
        let lines = try site.ask("GET", "/v1/export?replica=true").text.split(separator: "\n")
        return lines.map(String.init)
    }

    /// Waits until the replica has the state of the leader.
    func awaitLevel() throws {
        try eventually("the replica is level") {
            try Self.state(source) == Self.state(copy)
        }
    }

    /// Waits until nothing is left that expires soon, and the replica is up to date.
    ///
    /// Then the answers of both to one request after the other can be compared.
    func awaitQuiet() throws {
        try source.awaitQuiet()
        try awaitLevel()
    }
}

extension Site {
    /// Writes of all kinds, of ten names, `sum` and `last`; returns how many have got through.
    func write(_ count: Int, _ random: inout SeededGenerator) throws -> Int {
        let client = try client()
        var done = 0
        for number in 0..<count {
            let name = "p\(Int.random(in: 0..<10, using: &random))"
            let path = "/v1/properties/\(name)"
            let (method, target, body): (String, String, String?) =
                switch Int.random(in: 0..<10, using: &random) {
                case 0: ("DELETE", path, nil)
                case 1: ("PUT", path + "?ttl=0.05", "\(number)")
                case 2: ("POST", path + "/touch?ttl=1000", nil)
                case 3: ("DELETE", "/v1/properties?prefix=p1", nil)
                case 4: ("POST", "/v1/pop?prefix=p2", nil)
                case 5:
                    (
                        "POST", "/v1/transactions",
                        #"{"then":[{"put":"last","value":1},{"put":"\#(name)","value":[2]},"#
                            + #"{"delete":"p4"}]}"#
                    )
                case 6: ("PUT", path, "{\"lines\":\n [\(number),\r\n 1.50]}")
                case 7: ("POST", "/v1/properties/sum/increment", nil)
                default: ("PUT", path, "{\"a\": \(number)}")
                }
            let headers = body == nil ? [] : ["Content-Type: application/json"]
            let bytes = body.map { Array($0.utf8) }
            let answer = try client.request(method, target, headers: headers, body: bytes)
            if answer.status < 300 || answer.status == 404 { done += 1 }
        }
        return done
    }

    /// Waits until nothing is left that expires within a minute.
    func awaitQuiet() throws {
        try eventually("nothing is left that expires soon") {
            let soon = Date.now.timeIntervalSince1970 * 1000 + 60_000
            return try Replication.state(self).allSatisfy { line in
                let json = try JSONSerialization.jsonObject(with: Data(line.utf8))
                let expires = (json as? [String: Any])?["expires"] as? Double
                return expires.map { $0 > soon } ?? true
            }
        }
    }
}

/// `--follow`: a replica has what its leader has, and says how old that is.
@Suite(.timeLimit(.minutes(15)))
struct FollowTests {
    @Test(arguments: ["adaptive", "snapshot", "serial-queue", "actor"])
    func `a replica has the leader's properties, revisions, times and changes`(
        strategy: String
    ) async throws {
        try await offPool {
            let pair = try Replication(replica: ["--strategy", strategy])
            var random = SeededGenerator(23)
            let done = try pair.source.write(300, &random)
            #expect(done == 300)
            try pair.awaitQuiet()
            #expect(try Replication.state(pair.copy).count > 3)
            // The history of a replica begins with its first export.
            #expect(try pair.copy.ask("GET", "/v1/changes?limit=1000").status == 200)
            let lists = try [pair.source, pair.copy].map { site in
                // The time that is left goes on between the two requests. The states, which are
                // the same, have the time when it ends.
                try site.ask("GET", "/v1/properties?limit=50").text
                    .replacing(/,"ttl":[0-9.]+/, with: "")
            }
            #expect(lists[0] == lists[1])
            try pair.restartReplica()
            try pair.awaitLevel()
            let more = try pair.source.write(100, &random)
            #expect(more == 100)
            try pair.awaitQuiet()
            for name in 0..<10 {
                let path = "/v1/properties/p\(name)"
                let one = try pair.source.ask("GET", path)
                let other = try pair.copy.ask("GET", path)
                #expect(one.status == other.status && one.said == other.said)
                #expect(one.headers["etag"] == other.headers["etag"])
                #expect(one.headers["latchkey-created"] == other.headers["latchkey-created"])
            }
            #expect(pair.replica.end() == 0 && pair.leader.end() == 0)
        }
    }

    @Test func `a killed leader is followed again, and one with a new store is exported again`()
        async throws
    {
        try await offPool {
            let folder = try TemporaryFolder()
            let data = ["--data", folder.path + "/data"]
            let pair = try Replication(leader: data)
            #expect(try pair.source.ask("PUT", "/v1/properties/a", "1").status == 201)
            try pair.awaitLevel()
            try pair.restartLeader(data)
            #expect(try pair.copy.ask("GET", "/v1/properties/a").text == "1")
            #expect(try pair.source.ask("PUT", "/v1/properties/a", "2").status == 204)
            try pair.awaitLevel()
            let metrics = try pair.copy.ask("GET", "/metrics").text
            #expect(metrics.contains("\nlatchkey_follow_restarts_total 0\n"))
            // Alerts ask for these two.
            #expect(metrics.contains("\nlatchkey_follow_connected 1\n"))
            try eventually("the replica is young") {
                try pair.copy.ask("GET", "/metrics").text
                    .contains("\nlatchkey_follow_age_seconds 0")
            }
            // A store in memory begins at a later revision, and is empty.
            try pair.restartLeader()
            #expect(try pair.source.ask("PUT", "/v1/properties/b", "3").status == 201)
            try pair.awaitLevel()
            #expect(try pair.copy.ask("GET", "/v1/properties/a").status == 404)
            try pair.copy.awaitMetric("latchkey_follow_restarts_total", 1)
            // A store that begins before the replica's revision does not take it back.
            try pair.restartLeader(["--start-revision", "7"])
            try eventually("the replica says that it diverged") {
                let ready = try pair.copy.ask("GET", "/readyz?verbose")
                return ready.status == 503 && ready.text.contains("diverged")
                    && ready.text.contains("gone back to revision 7")
            }
            #expect(try pair.copy.ask("GET", "/v1/properties/b").text == "3")
        }
    }

    @Test func `a history that is too short costs another export, and watches start again`()
        async throws
    {
        try await offPool {
            let pair = try Replication(leader: ["--history-bytes", "520"])
            #expect(try pair.source.ask("PUT", "/v1/properties/a", "0").status == 201)
            try pair.awaitLevel()
            let watch = try EventStreamClient(port: pair.copy.port, "/v1/watch")
            pair.replica.signal(SIGSTOP)
            for number in 1...10 {
                _ = try pair.source.ask("PUT", "/v1/properties/a", "\(number)")
            }
            pair.replica.signal(SIGCONT)
            try pair.awaitLevel()
            try pair.copy.awaitMetric("latchkey_follow_restarts_total", 1)
            // One answer can have been on its way, with as many changes as the history holds. The
            // watch ends after them, and the next one begins with a gap.
            #expect(try watch.events(until: { _ in false }).count <= 2)
            let next = try EventStreamClient(
                port: pair.copy.port,
                "/v1/watch",
                lastID: watch.lastID
            )
            #expect(try next.next()?.type == "gap")
        }
    }

    @Test func `reads go on without the leader, and say how old they are`() async throws {
        try await offPool {
            let pair = try Replication()
            #expect(try pair.source.ask("PUT", "/v1/properties/a?ttl=1", "1").status == 201)
            #expect(try pair.source.ask("PUT", "/v1/properties/b", "1").status == 201)
            try pair.awaitLevel()
            #expect(try pair.source.ask("GET", "/v1/properties/b").headers["latchkey-age"] == nil)
            pair.leader.signal(SIGSTOP)
            // Its time is over, and the leader's commit has not come.
            try eventually("it is over") {
                try pair.copy.ask("GET", "/v1/properties/a").status == 404
            }
            let list = try pair.copy.ask("GET", "/v1/properties")
            #expect(list.text.contains(#""name":"b""#) && !list.text.contains(#""name":"a""#))
            let age = try #require(list.headers["latchkey-age"].flatMap { Double($0) })
            pair.leader.signal(SIGCONT)
            try pair.awaitLevel()
            try eventually("the replica is younger again") {
                let now = try pair.copy.ask("GET", "/v1/properties/b").headers["latchkey-age"]
                return try #require(now.flatMap { Double($0) }) < age
            }
        }
    }

    @Test func `every route that changes state names the leader`() async throws {
        try await offPool {
            let pair = try Replication()
            let contract = try pair.source.ask("GET", "/openapi.yaml").text
            // They change nothing that a replica has from its leader.
            let local = [
                "/v1/session", "/v1/contention/reset", "/v1/promote", "/v1/strategy",
            ]
            var path = ""
            var count = 0
            for line in contract.split(separator: "\n") {
                if line.hasPrefix("  /"), line.hasSuffix(":") {
                    path = String(line.dropFirst(2).dropLast())
                        .replacing(/\{[a-z]+\}/, with: "a")
                }
                guard let match = line.wholeMatch(of: /\ {4}(post|put|patch|delete):/),
                    path.hasPrefix("/v1/"), !local.contains(path)
                else { continue }
                count += 1
                let body = match.1 == "delete" ? nil : "1"
                let answer = try pair.copy.ask(match.1.uppercased(), path, body)
                #expect(answer.status == 421 && answer.problem == "not-leader", "\(path)")
                let leader = "http://127.0.0.1:\(pair.source.port)"
                #expect(answer.headers["latchkey-leader"] == leader)
                #expect((answer.json as? [String: Any])?["leader"] as? String == leader)
            }
            #expect(count >= 11)
            #expect(try pair.source.ask("PUT", "/v1/properties/flags%2Fon", "true").status == 201)
            try pair.awaitLevel()
            let flag = try pair.copy.ask("POST", "/ofrep/v1/evaluate/flags/on", "{}")
            #expect(flag.status == 200 && flag.text.contains("\"value\":true"), "a read")
            #expect(try pair.source.ask("DELETE", "/v1/properties/flags%2Fon").status == 204)
            try pair.awaitLevel()
            #expect(try pair.copy.ask("GET", "/v1/properties").text.contains(#""properties":[]"#))
            #expect(try pair.source.ask("POST", "/v1/promote").status == 409)
        }
    }

    @Test func `a promoted replica leads, after all revisions that the old leader can have used`()
        async throws
    {
        try await offPool {
            let pair = try Replication()
            #expect(try pair.source.ask("PUT", "/v1/properties/a", "1").status == 201)
            #expect(try pair.source.ask("PUT", "/v1/properties/t?ttl=1", "1").status == 201)
            try pair.awaitLevel()
            // The watch on a replica goes on after a revision of the leader.
            let first = try #require(try pair.source.ask("GET", "/v1/properties/a").revision)
            let watch = try EventStreamClient(port: pair.copy.port, "/v1/watch?after=\(first)")
            #expect(try watch.next()?.id == "\(first + 1)")
            pair.leader.signal(SIGSTOP)
            let url = "http://127.0.0.1:\(pair.copy.port)"
            // Its strategy is its own.
            let switched = try Program(["switch", "spin", "--url", url]).finish()
            #expect(switched.output.hasPrefix("from lock to spin"), "\(switched.errors)")
            let command = try Program(["promote", "--url", url]).finish()
            #expect(command.status == 0, "\(command.errors)")
            let told = command.output.wholeMatch(of: /\{"revision":([0-9]+)\}\n/)?.1
            let start = try #require(told.flatMap { UInt64($0) })
            #expect(start > first + 4_294_967_296)
            #expect(try pair.copy.ask("POST", "/v1/promote").status == 409)
            let put = try pair.copy.ask("PUT", "/v1/properties/a", "2")
            #expect(put.status == 204 && put.headers["latchkey-age"] == nil)
            let tags = [start + 1, start + 2].map { "\"\($0)\"" }
            #expect(tags.contains(put.headers["etag"] ?? ""), "t can be removed before or after")
            // A revision that the old leader used, and that never came here.
            let lost = try EventStreamClient(
                port: pair.copy.port,
                "/v1/watch",
                lastID: "\(first + 9)"
            )
            #expect(try lost.next()?.type == "gap")
            // Expiry runs: the removal is a commit.
            try eventually("the property is removed") {
                try pair.copy.ask("GET", "/v1/changes").text.contains(#""type":"expire""#)
            }
            #expect(pair.replica.end() == 0)
        }
    }

    @Test func `a replica needs a token, and trusts an authority`() async throws {
        let tokens = try Tokens(["replica": ["read", "export"], "all": ["read", "write"]])
        try await offPool {
            let folder = try TemporaryFolder()
            let certificate = TestCertificate()
            let leader = try Program(
                Replication.quiet + ["0", "--token-file", tokens.path]
                    + folder.tlsFlags(certificate)
            )
            let source = Site(port: try leader.awaitPort())
            let write = tokens.headers("all")
            #expect(try source.ask("PUT", "/v1/properties/a", "1", headers: write).status == 201)
            try folder.write("token", tokens["replica"] + "\n")
            let flags = [
                "--follow", "https://localhost:\(source.port)",
                "--peer-token-from", folder.path + "/token",
                "--peer-ca", folder.path + "/certificate.pem",
            ]
            let replica = try Program(Replication.quiet + ["0"] + flags)
            let copy = Site(port: try replica.awaitPort())
            #expect(try copy.ask("GET", "/v1/properties/a").text == "1")
            // The change is the leader's also with a token for it: nothing is sent on.
            let refused = try copy.ask("PUT", "/v1/properties/a", "2", headers: write)
            #expect(refused.status == 421 && refused.problem == "not-leader")
            #expect(refused.headers["latchkey-leader"] == "https://localhost:\(source.port)")
            #expect(try source.ask("GET", "/v1/properties/a", headers: write).text == "1")
            #expect(replica.end() == 0 && leader.end() == 0)
        }
    }

    @Test func `a replica says which leader it follows, and how far it is behind`() async throws {
        try await offPool {
            let pair = try Replication()
            func following(_ site: Site) throws -> [String: Any]? {
                let known = try site.ask("GET", "/v1/cluster").json as? [String: Any]
                return try #require(known)["following"] as? [String: Any]
            }
            #expect(try following(pair.source) == nil)
            let written = try pair.source.ask("PUT", "/v1/properties/a", "1")
            let revision = try #require(written.revision)
            try pair.awaitLevel()
            let now = try #require(try following(pair.copy))
            #expect(now["leader"] as? String == "http://127.0.0.1:\(pair.source.port)")
            #expect(now["state"] as? String == "following" && now["isConnected"] as? Bool == true)
            #expect(now["revision"] as? UInt64 == revision && now["lagRevisions"] as? Int == 0)
            #expect(now["ageSeconds"] as? Double != nil)
            pair.leader.signal(SIGSTOP)
            try eventually("it says that it is stale") {
                let now = try following(pair.copy)
                return now?["state"] as? String == "stale" && now?["isConnected"] as? Bool == false
            }
            #expect(try pair.copy.ask("POST", "/v1/promote").status == 200)
            let leads = try #require(try following(pair.copy))
            #expect(leads["state"] as? String == "promoted" && leads["ageSeconds"] == nil)
            #expect(try pair.copy.ask("GET", "/v1/cluster?a=1").problem == "invalid-query")
        }
    }
}
