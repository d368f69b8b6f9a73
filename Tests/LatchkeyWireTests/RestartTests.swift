import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Conditions, cursors and polls of a client that knew the service before it was restarted.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct RestartTests {
    /// The facts that a client keeps from one life of the service.
    private struct Kept: Sendable {
        let tag: String
        let revision: Int
        let created: Int
        let eventID: String
    }

    private static let flags = ["--start-revision", "clock"]

    @Test(arguments: [Deployment.inProcess, .data, .oneReplica])
    func `nothing of another life matches, issue 17`(deployment: Deployment) async throws {
        let kept = Synchronized<Kept?, LockStrategy>(nil)
        try await deployment.serve(Self.flags) { site in
            let life = try Self.live(site)
            kept.write { $0 = life }
        }
        let old = try #require(kept.read { $0 })
        try await deployment.serve(Self.flags) { site in try Self.expectNothing(of: old, site) }
    }

    /// The copy of the folder is as a kill leaves it: nothing of what was answered is in it.
    @Test
    func `with an interval, nothing of what a kill has lost matches, issue 46`() async throws {
        let folder = try TemporaryFolder()
        let flags = Self.flags + ["--durability", "interval", "--data"]
        let limits = "sync-interval=2m"
        var lives: [Kept] = []
        for life in 0..<3 {
            let (path, killed) = (folder.path + "\(life)", folder.path + "\(life + 1)")
            let kept = Synchronized<Kept?, LockStrategy>(nil)
            let former = lives
            try await Deployment.inProcess.serve(flags + [path], limits: limits) { site in
                for old in former { try Self.expectNothing(of: old, site, isSameStore: true) }
                let life = try Self.live(site)
                kept.write { $0 = life }
                try FileManager.default.copyItem(atPath: path, toPath: killed)
            }
            lives.append(try #require(kept.read { $0 }))
        }
    }

    /// Makes changes, and keeps the facts that a client sees.
    private static func live(_ site: Site) throws -> Kept {
        _ = try site.ask("PUT", "/v1/properties/other", "0")
        let answer = try site.ask("PUT", "/v1/properties/lock", #""mine""#)
        let tag = try #require(answer.headers["etag"])
        let revision = try #require(Int(tag.dropFirst().dropLast()))
        #expect(revision < 1 << 53, "exact in JSON")
        let watch = try site.stream("/v1/watch?after=\(revision - 1)")
        let event = try #require(try watch.next())
        let created = try site.ask("GET", "/v1/properties/lock").headers["latchkey-created"]
        let life = Kept(
            tag: tag,
            revision: revision,
            created: try #require(created.flatMap { Int($0) }),
            eventID: event.id
        )
        #expect(life.created <= revision)
        return life
    }

    private static func expectNothing(
        of old: Kept,
        _ site: Site,
        isSameStore: Bool = false
    ) throws {
        // As many changes as before: a store that began at 0 would be at the same revision.
        _ = try site.ask("PUT", "/v1/properties/other", "0")
        let name = "/v1/properties/lock"
        _ = try site.ask("DELETE", name)
        #expect(try site.ask("PUT", name, #""theirs""#).status == 201)
        let put = try site.ask("PUT", name, "1", headers: ["If-Match: \(old.tag)"])
        #expect(put.status == 412)
        let get = try site.ask("GET", name, headers: ["If-None-Match: \(old.tag)"])
        #expect(get.status == 200)
        #expect(get.text == #""theirs""#)
        let created = try #require(get.headers["latchkey-created"].flatMap { Int($0) })
        #expect(created > old.created, "a fencing token grows")
        let condition = #"{"if":[{"name":"lock","revision":\#(old.revision)}],"then":[]}"#
        #expect(try site.ask("POST", "/v1/transactions", condition).text.contains("false"))
        for id in [old.eventID, "1", "1.1", "\(created + 1_000_000)"] {
            let watch = try site.stream("/v1/watch", lastID: id)
            #expect(try watch.next()?.type == "gap", "\(id)")
        }
        for revision in ["\(old.revision)", "500", "\(created + 1_000_000)"] {
            let none = "/v1/properties/none"
            for target in [
                "\(name)?after=\(revision)&wait=20", "\(none)?after=\(revision)&wait=20",
            ] {
                // It says at once what there is now, where the revision is of this store.
                let answer = try site.ask("GET", target)
                let isThere = isSameStore && revision == "\(old.revision)"
                let now = isThere ? target.hasPrefix(none) ? 404 : 200 : 410
                #expect(answer.status == now, "\(target)")
            }
            for target in [
                "\(name)?revision=\(revision)", "/v1/changes?after=\(revision)",
                "/v1/export?revision=\(revision)",
            ] {
                #expect(try site.ask("GET", target).problem == "gone", "\(target)")
            }
        }
    }

    @Test func `0 stands for the begin of every life, issue 17`() async throws {
        try await Deployment.inProcess.serve(Self.flags) { site in
            let empty = try site.ask("GET", "/v1/changes?after=0").text
            #expect(empty.contains(#""changes":[]"#) && !empty.contains(#""revision":0"#))
            let export = try site.ask("GET", "/v1/export?revision=0").text
            #expect(export.hasPrefix(#"{"end":true,"count":0,"#))
            let start = try #require(
                site.ask("GET", "/v1/export").headers["latchkey-revision"].flatMap { Int($0) }
            )
            _ = try site.ask("PUT", "/v1/properties/a", "1")
            #expect(try site.ask("GET", "/v1/properties/a?after=0&wait=20").text == "1")
            #expect(try site.ask("GET", "/v1/properties/a?after=\(start)&wait=20").text == "1")
            #expect(try site.ask("GET", "/v1/properties/a?revision=0").status == 404)
            #expect(try site.ask("GET", "/v1/properties/none?after=0&wait=0.1").status == 404)
            let changes = try site.ask("GET", "/v1/changes?after=0").text
            #expect(changes.contains(#""revision":\#(start + 1),"time""#))
            let watch = try site.stream("/v1/watch?after=0")
            #expect(try watch.next()?.id == "\(start + 1)")
        }
    }
}
