import Foundation
import LatchkeyComparison
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// A client that starts from an export and applies the events of a watch has the state of each
/// revision.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct WatchReplayTests {
    /// So small that properties are evicted all the time.
    private static let flags = [
        "--eviction", "lru", "--max-properties", "12", "--max-bytes", "150",
        "--history-bytes", "1GiB",
    ]
    private static let writerCount = 3

    @Test(arguments: Deployment.allCases)
    func `a replica holds the exported state of each revision`(
        deployment: Deployment
    ) async throws {
        let seed = 1
        try await deployment.serve(Self.flags) { site in
            let writers = (1...Self.writerCount).map { number in
                TestThread {
                    do {
                        try Self.write(site, count: 150, seed: UInt64(100 * seed + number))
                    } catch {
                        Issue.record(error)
                    }
                }
            }
            var random = SeededRandom(seed: UInt64(seed))
            var replica = try Replica(site)
            try replica.follow(site, until: Self.writerCount, &random)
            for writer in writers { writer.join() }
            #expect(replica.counts["evicted", default: 0] > 0)
            #expect(replica.counts["expire", default: 0] > 0)
            #expect(replica.counts["deleted", default: 0] > 0)
            let revisions = replica.states.keys.sorted()
            #expect(revisions.count > 50)
            #expect(revisions == Array(revisions[0]...revisions[revisions.count - 1]))
            for revision in revisions.shuffled(using: &random).prefix(60) + revisions.suffix(1) {
                let exported = try Replica.export(site, revision: revision).rows
                let held = replica.states[revision] ?? [:]
                #expect(
                    held == exported.mapValues(\.property),
                    "seed \(seed), revision \(revision)"
                )
            }
        }
    }

    /// Random changes, and at the end one of the property `done`.
    private static func write(_ site: Site, count: Int, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let client = try site.client()
        for _ in 0..<count {
            let names = (0..<40).map { "n\($0)" }.shuffled(using: &random)
            let path = "/v1/properties/\(names[0])"
            let value = String(Int.random(in: 1...99_999_999, using: &random))
            let ttl = "0.00\(Int.random(in: 2...9, using: &random))"
            let answer: HTTPAnswer
            switch Int.random(in: 0..<8, using: &random) {
            case 0: answer = try client.request("DELETE", path)
            case 1: answer = try client.request("POST", "\(path)/increment?ttl=\(ttl)")
            case 2, 3:
                answer = try client.request("PUT", "\(path)?ttl=\(ttl)", body: Array(value.utf8))
            case 4:
                let body = """
                    {"then":[{"put":"\(names[1])","value":\(value),"ttl":\(ttl)},\
                    {"delete":"\(names[2])"},{"increment":"\(names[1])"},\
                    {"put":"\(names[3])","value":1}]}
                    """
                answer = try client.request("POST", "/v1/transactions", body: Array(body.utf8))
            default: answer = try client.request("PUT", path, body: Array(value.utf8))
            }
            #expect([200, 201, 204, 404].contains(answer.status), "seed \(seed): \(answer.text)")
        }
        _ = try client.request("POST", "/v1/properties/done/increment")
    }
}

/// A copy of the state, which follows a watch and remembers each revision.
private struct Replica {
    struct Property: Hashable {
        let value: Int
        let revision: Int
        let created: Int
    }

    /// A line of an export, or the data of an event.
    struct Row: Decodable {
        let name: String
        let revision: Int
        var created: Int?
        var value: Int?
        var ttl: Double?
        var reason: String?

        var property: Property {
            Property(value: value ?? 0, revision: revision, created: created ?? 0)
        }
    }

    private(set) var states: [Int: [String: Property]] = [:]
    /// How often each kind of removal has come.
    private(set) var counts: [String: Int] = [:]
    private var state: [String: Property]
    private var lastID: String

    /// Starts from an export.
    ///
    /// Expired properties that are not yet removed belong to the revision, and are not served any
    /// more.
    init(_ site: Site) throws {
        let now = try Self.export(site)
        let all = try Self.export(site, revision: now.revision)
        for (name, row) in all.rows {
            if let served = now.rows[name] {
                #expect(served.property == row.property)
            } else {
                #expect(row.ttl == 0.001, "the least that an import takes")
            }
        }
        #expect(now.rows.keys.allSatisfy { all.rows[$0] != nil })
        state = all.rows.mapValues(\.property)
        lastID = "\(now.revision)"
        states[now.revision] = state
    }

    static func export(
        _ site: Site,
        revision: Int? = nil
    ) throws -> (revision: Int, rows: [String: Row]) {
        let query = revision.map { "?revision=\($0)" } ?? ""
        let answer = try site.ask("GET", "/v1/export\(query)")
        #expect(answer.status == 200)
        let number = try #require(answer.headers["latchkey-revision"].flatMap { Int($0) })
        var rows: [String: Row] = [:]
        for line in answer.text.split(separator: "\n") where line.hasPrefix("{\"name") {
            let row = try JSONDecoder().decode(Row.self, from: Data(line.utf8))
            rows[row.name] = row
        }
        return (number, rows)
    }

    /// Follows, on connections that are cut at random bytes, until `done` was counted so often.
    mutating func follow(_ site: Site, until doneCount: Int, _ random: inout SeededRandom) throws {
        var done = 0
        while done < doneCount {
            let client = try site.stream("/v1/watch", lastID: lastID)
            #expect(client.status == 200)
            for _ in 0..<Int.random(in: 1...30, using: &random) where done < doneCount {
                let count = Int.random(in: 1...700, using: &random)
                for event in try #require(try client.read(countMax: count)) {
                    done += try apply(event) == "done" ? 1 : 0
                }
            }
            lastID = client.lastID
            client.close()
        }
    }

    /// Applies an event, and returns the name of the property.
    private mutating func apply(_ event: EventStreamParser.Event) throws -> String {
        let row = try JSONDecoder().decode(Row.self, from: Data(event.data.utf8))
        switch event.type {
        case "put":
            state[row.name] = row.property
        case "delete", "expire":
            #expect(state.removeValue(forKey: row.name) != nil, "\(event)")
            counts[row.reason ?? event.type, default: 0] += 1
        default:
            Issue.record("\(event)")
        }
        // An id without a point stands on the last event of its revision.
        if let revision = Int(event.id) {
            #expect(revision == row.revision)
            states[revision] = state
        }
        return row.name
    }
}
