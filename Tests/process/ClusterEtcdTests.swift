import Foundation
import LatchkeyTestSupport
import Testing

/// An etcd that is another one than that of the cluster, and folders that are another replica's.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ClusterEtcdTests {
    /// An answer of etcd's JSON gateway, which writes numbers as text.
    private struct Answer: Decodable {
        struct Header: Decodable {
            let revision: String
        }

        struct Value: Decodable {
            let value: String
            let modified: String

            enum CodingKeys: String, CodingKey {
                case value
                case modified = "mod_revision"
            }
        }

        let header: Header
        let kvs: [Value]?
    }

    private static let keys = ["/latchkey/logs/test", "/latchkey/settings/test"].map {
        Data($0.utf8).base64EncodedString()
    }

    private static func range(
        _ etcd: EtcdProcesses,
        _ key: String,
        at revision: UInt64 = 0
    ) throws -> Answer {
        let question = "{\"key\":\"\(key)\",\"revision\":\"\(revision)\"}"
        return try JSONDecoder().decode(Answer.self, from: etcd.ask(0, "/v3/kv/range", question))
    }

    private static func revision(_ etcd: EtcdProcesses) throws -> UInt64 {
        try #require(UInt64(try range(etcd, keys[0]).header.revision))
    }

    /// Gives a new etcd the content of another one at a revision, each entry at its revision, as a
    /// restored backup has it.
    private static func restore(
        _ former: EtcdProcesses,
        through last: UInt64,
        into etcd: EtcdProcesses
    ) throws {
        let other = Data("other".utf8).base64EncodedString()
        for revision in 2...last {
            let put = try keys.compactMap { key -> (String, String)? in
                let value = try range(former, key, at: revision).kvs?.first
                guard let value, value.modified == "\(revision)" else { return nil }
                return (key, value.value)
            }
            let (key, value) = put.first ?? (other, other)
            try etcd.ask(0, "/v3/kv/put", "{\"key\":\"\(key)\",\"value\":\"\(value)\"}")
        }
        #expect(try Self.revision(etcd) == last)
    }

    private static func awaitCreated(_ etcd: EtcdProcesses) throws {
        try eventually("the agreement has the first entry") {
            let value = try range(etcd, keys[1]).kvs?.first?.value ?? ""
            let text = Data(base64Encoded: value).map { String(decoding: $0, as: UTF8.self) }
            return text?.contains("\"created\":") == true
        }
    }

    private static func verbose(_ site: Site) -> String? {
        (try? site.ask("GET", "/readyz?verbose")).map { "\($0.status) \($0.text)" }
    }

    /// The answer of a replica about its etcd.
    private struct Known: Decodable {
        struct Cluster: Decodable {
            let etcd: String
            let life: Int
        }

        let cluster: Cluster
    }

    private static func known(_ site: Site) throws -> Known.Cluster {
        let body = try site.ask("GET", "/v1/cluster").body
        return try JSONDecoder().decode(Known.self, from: Data(body)).cluster
    }

    @Test func `an etcd that goes on from a backup with another ID begins a new life`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            let site = replicas.sites[0]
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            try Self.awaitCreated(replicas.etcd)
            let backup = try Self.revision(replicas.etcd)
            let lost = try site.ask("PUT", "/v1/properties/a", "2")
            let former = try Self.known(site)
            #expect(former.life == 1)
            replicas.end(0, SIGTERM)
            let etcd = try EtcdProcesses()
            try Self.restore(replicas.etcd, through: backup, into: etcd)

            // The folder can be the only one that has what was lost.
            let flags = ["--cluster", etcd.addresses[0], "--cluster-name", "test"]
            let refused = try Program(["serve", "--port", "0", "--data", replicas.data(0)] + flags)
                .finish()
            #expect(refused.status == 1, "\(refused.errors)")
            for part in ["is of the etcd cluster", former.etcd, "was restored or replaced"] {
                #expect(refused.errors.contains(part), "\(refused.errors)")
            }

            // A replica of the former etcd is said to give its state.
            try replicas.start(0)
            let record =
                #"{"url":"http://127.0.0.1:\#(site.port)","place":\#(backup),"#
                + #""revision":1,"state":"serving","time":1}"#
            let (key, value) = ("/latchkey/replicas/test/7", Data(record.utf8))
            let names = [Data(key.utf8), value].map { $0.base64EncodedString() }
            try etcd.ask(0, "/v3/kv/put", "{\"key\":\"\(names[0])\",\"value\":\"\(names[1])\"}")

            let new = try Program(["serve", "--port", "0", "--data", replicas.data(1)] + flags)
            let later = Site(port: try new.awaitPort())
            try ReplicaSet.awaitReady(later)
            #expect(try later.ask("GET", "/v1/properties/a").text == "1")
            let now = try Self.known(later)
            #expect(now.life == 2 && now.etcd != former.etcd)
            let tag = try #require(lost.headers["etag"])
            let written = try later.ask("PUT", "/v1/properties/a", "3")
            #expect(try #require(written.revision) > #require(lost.revision) + 1 << 32)
            let late = try later.ask("PUT", "/v1/properties/a", "4", headers: ["If-Match: \(tag)"])
            #expect(late.status == 412)
            let ended = new.endAndFinish()
            #expect(ended.status == 0)
            #expect(ended.errors.contains("has the state of another log"), "\(ended.errors)")
            #expect(replicas.endAll())
        }
    }

    @Test func `a member that was started as a new cluster is passed over, at a start, too`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(members: 3, strategies: ["lock"])
            let site = replicas.sites[0]
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            try replicas.etcd.startAlone(0)
            try eventually("writes go on at the others") {
                try site.ask("PUT", "/v1/properties/a", "2").status == 204
            }
            // Only the stranger answers.
            for member in 1...2 { replicas.etcd.signal(member, SIGTERM) }
            try eventually("it is not ready") {
                let text = Self.verbose(site) ?? ""
                return text.hasPrefix("503") && text.contains("test: connecting.")
                    && text.contains("is of the etcd cluster")
            }
            #expect(try site.ask("PUT", "/v1/properties/a", "3").status >= 500)
            let port = try replicas.addUnready()
            try eventually("a new one does not begin there") {
                let text = Self.verbose(Site(port: port)) ?? ""
                return text.hasPrefix("503")
                    && text.contains("Most addresses in --cluster must be of one cluster of etcd.")
            }
            replicas.end(0, SIGTERM)
            for member in 1...2 { try replicas.etcd.start(member) }
            for member in 1...2 { try replicas.etcd.awaitHealth(member) }
            try replicas.start(0)
            try ReplicaSet.awaitReady(replicas.sites[1])
            #expect(try replicas.sites[1].ask("PUT", "/v1/properties/b", "1").status == 201)
            try replicas.awaitSame()
            #expect(replicas.endAll())
        }
    }

    @Test func `a deleted log is not begun again, and a stopped replica sends reads to others`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            let site = replicas.sites[0]
            let written = try site.ask("PUT", "/v1/properties/a", "1")
            let later = try #require(written.revision) + 99
            try Self.awaitCreated(replicas.etcd)
            try replicas.etcd.ask(0, "/v3/kv/deleterange", "{\"key\":\"\(Self.keys[0])\"}")
            try eventually("it has stopped") {
                Self.verbose(site)?.contains("test: diverged.") == true
            }
            // Other replicas can have shown changes that it never gets.
            for query in [
                "properties/a?min-revision=\(later)", "properties/a?consistency=linearizable",
                "watch?after=\(later)", "changes?after=\(later)",
            ] {
                let answer = try site.ask("GET", "/v1/\(query)")
                #expect(answer.status == 503 && answer.problem == "not-level", "\(query)")
                #expect(answer.text.contains("Send the request to another replica."), "\(answer)")
            }
            #expect(try site.ask("GET", "/v1/properties/a").text == "1")
            let gone = try replicas.refused(1, [])
            #expect(gone.status == 1 && gone.errors.contains("is not there any more"))
            try replicas.insertEntry(writer: 1, sequence: 1)
            let again = try replicas.refused(1, [])
            #expect(again.status == 1 && again.errors.contains("was deleted and made again"))
            #expect(replicas.endAll())
        }
    }

    @Test func `a replica says what etcd refuses`() async throws {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            let site = replicas.sites[0]
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            let root = #"{"name":"root","password":"a"}"#
            try replicas.etcd.ask(0, "/v3/auth/user/add", root)
            try replicas.etcd.ask(0, "/v3/auth/role/add", #"{"name":"root"}"#)
            try replicas.etcd.ask(0, "/v3/auth/user/grant", #"{"user":"root","role":"root"}"#)
            try replicas.etcd.ask(0, "/v3/auth/enable")
            try eventually("it says so") {
                _ = try site.ask("PUT", "/v1/properties/a", "2")
                let text = Self.verbose(site) ?? ""
                return text.contains("etcd has failed for the log")
                    && text.contains("user name is empty")
            }
            let errors = replicas.programs[0].endAndFinish()
            #expect(errors.status == 0, "\(errors.errors)")
        }
    }

    @Test func `of a folder and its copy, the replica that began later stops`() async throws {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            let site = replicas.sites[0]
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            replicas.end(0, SIGTERM)
            let (one, copy) = (replicas.data(0), replicas.data(1))
            try FileManager.default.copyItem(atPath: one, toPath: copy)
            try replicas.start(0)
            try replicas.add()
            try eventually("the copy stops") {
                let text = Self.verbose(replicas.sites[1]) ?? ""
                return text.hasPrefix("503") && text.contains("test: diverged.")
                    && text.contains("Another process runs with the id of this folder")
            }
            #expect(try replicas.sites[1].ask("PUT", "/v1/properties/a", "2").status == 503)
            #expect(try site.ask("PUT", "/v1/properties/a", "3").status == 204)
            #expect(try site.ask("GET", "/readyz").status == 200)
            // It writes no record any more in the name of the other one.
            let records = try replicas.records()
            #expect(records.count == 1 && records[0].contains("serving"), "\(records)")
            #expect(replicas.endAll())
        }
    }

    @Test func `a copy that is refused at its start removes no record of the other one`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            let site = replicas.sites[0]
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            replicas.end(0, SIGTERM)
            try FileManager.default.copyItem(atPath: replicas.data(0), toPath: replicas.data(1))
            try replicas.start(0)
            for number in 0..<9 {
                #expect(try site.ask("PUT", "/v1/properties/a", "\(number)").status == 204)
            }
            try replicas.forget()
            // It would write the record again.
            replicas.programs[0].signal(SIGSTOP)
            let copy = try replicas.refused(1, [])
            #expect(copy.status == 1 && copy.errors.contains("Move its data away"), "\(copy)")
            replicas.end(0)
            #expect(try replicas.records().count == 1)
        }
    }

    @Test func `SIGHUP has the addresses of etcd read again`() async throws {
        try await offPool {
            let etcd = try EtcdProcesses(members: 3)
            let folder = try TemporaryFolder()
            try folder.write("members", etcd.addresses[0])
            let replicas = try ReplicaSet(
                etcd,
                addressFile: "\(folder.path)/members",
                strategies: ["lock"]
            )
            let site = replicas.sites[0]
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            let other = try EtcdProcesses()
            try folder.write("members", other.addresses[0])
            replicas.programs[0].signal(SIGHUP)
            try replicas.programs[0].awaitErrors(containing: "are of another cluster of etcd")
            etcd.signal(0, SIGKILL)
            try folder.write("members", "nothing")
            replicas.programs[0].signal(SIGHUP)
            try eventually("a file that is not right changes nothing") {
                Self.verbose(site)?.contains("etcd does not answer") == true
            }
            try folder.write("members", etcd.addresses[1...].joined(separator: "\n"))
            replicas.programs[0].signal(SIGHUP)
            try eventually("writes go on") {
                try site.ask("PUT", "/v1/properties/a", "2").status == 204
            }
            #expect(replicas.endAll())
        }
    }
}
