import Foundation
import LatchkeyComparison
import LatchkeyTestSupport
import Synchronization

/// A client that sends random requests about few properties, and records their answers.
///
/// Not for use from several threads at once.
final class RecordingClient {
    typealias Operation = PropertyModel.Operation
    typealias Property = PropertyModel.Property
    typealias Answer = PropertyModel.Answer

    /// Numbers for all clients of one history.
    final class Count: Sendable {
        private let count = Atomic<Int>(0)

        func next() -> Int {
            count.add(1, ordering: .acquiringAndReleasing).newValue
        }
    }

    private let number: Int
    private let count: Count
    private let http: HTTPClient
    /// The query that each read adds to its target.
    private let query: String
    private var random: SeededRandom
    /// The latest revision of each property that this client knows of.
    private var known: [String: Int] = [:]
    private(set) var history: [Observed<Operation>] = []

    init(_ site: Site, number: Int, count: Count, seed: UInt64, query: String = "") throws {
        self.number = number
        self.query = query
        self.count = count
        http = try site.client()
        random = SeededRandom(seed: seed &* 1000 &+ UInt64(number))
    }

    /// Sends a random request.
    func run() throws {
        try send(randomRequest())
    }

    func send(_ request: PropertyModel.Request) throws {
        let invokedAt = count.next()
        let answer = try answer(to: request)
        history.append(
            Observed(
                client: number,
                Operation(request: request, answer: answer),
                invokedAt: invokedAt,
                respondedAt: count.next()
            )
        )
    }

    private func randomRequest() -> PropertyModel.Request {
        let names = PropertyModel.names.shuffled(using: &random)
        let name = names[0]
        let value = Int.random(in: 1...1_000_000, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5: return .get(name)
        case 5: return .list
        case 6..<8: return .put(name, value, ifRevision: nil)
        case 8..<11: return .put(name, value, ifRevision: known[name] ?? 0)
        case 11..<14: return .increment(name)
        case 14..<16: return .delete(name)
        default:
            let then: [PropertyModel.Step] = [
                .put(names[1], value), .increment(name), .get(names[1]), .delete(names[2]),
            ]
            return .transaction(
                name,
                revision: known[name] ?? 0,
                then: then.shuffled(using: &random),
                otherwise: [.get(names[0]), .increment(names[1]), .get(names[2])]
            )
        }
    }

    private func answer(to request: PropertyModel.Request) throws -> Answer {
        switch request {
        case .get(let name): return try single("GET", name, query)
        case .increment(let name): return try single("POST", name, "/increment")
        case .delete(let name): return try single("DELETE", name)
        case .put(let name, let value, let revision):
            let condition = revision.map { $0 == 0 ? "If-None-Match: *" : "If-Match: \"\($0)\"" }
            return try single("PUT", name, headers: condition.map { [$0] } ?? [], body: "\(value)")
        case .list:
            let page = try Page(http.request("GET", "/v1/properties" + query).body)
            for name in PropertyModel.names {
                known[name] = page.properties.first { $0.name == name }?.revision
            }
            return Answer(
                status: 200,
                revision: page.revision,
                found: PropertyModel.names.map { name in
                    page.properties.first { $0.name == name }?.property
                }
            )
        case .transaction(let name, let revision, let then, let otherwise):
            let body = """
                {"if":[{"name":"\(name)","revision":\(revision)}],\
                "then":[\(then.map(\.json).joined(separator: ","))],\
                "else":[\(otherwise.map(\.json).joined(separator: ","))]}
                """
            let answer = try http.request("POST", "/v1/transactions", body: Array(body.utf8))
            let outcome = try Outcome(answer.body)
            for result in outcome.results {
                known[result.name] = result.revision
            }
            return Answer(
                status: outcome.succeeded ? answer.status : -answer.status,
                revision: outcome.revision,
                found: outcome.results.map(\.property)
            )
        }
    }

    private func single(
        _ method: String,
        _ name: String,
        _ end: String = "",
        headers: [String] = [],
        body: String? = nil
    ) throws -> Answer {
        let answer = try http.request(
            method,
            "/v1/properties/\(name)\(end)",
            headers: headers,
            body: body.map { Array($0.utf8) }
        )
        let revision = answer.headers["etag"].flatMap { Int($0.dropFirst().dropLast()) }
        if [200, 201, 204, 404].contains(answer.status) {
            known[name] = revision
        }
        guard answer.status == 200, let revision, let value = Int(answer.text) else {
            return Answer(status: answer.status, revision: revision)
        }
        let property = Property(value: value, revision: revision, created: 0)
        return Answer(status: 200, revision: revision, found: [property])
    }
}

/// A property in an answer.
private struct Row: Decodable {
    let name: String
    let revision: Int
    var created: Int?
    var value: Int?

    /// Nil if there is no such property.
    var property: PropertyModel.Property? {
        created.map {
            PropertyModel.Property(value: value ?? 0, revision: revision, created: $0)
        }
    }
}

private struct Page: Decodable {
    let revision: Int
    let properties: [Row]

    init(_ body: [UInt8]) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(body))
    }
}

private struct Outcome: Decodable {
    let succeeded: Bool
    let revision: Int
    let results: [Row]

    init(_ body: [UInt8]) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(body))
    }
}

extension PropertyModel.Step {
    fileprivate var json: String {
        switch self {
        case .put(let name, let value): "{\"put\":\"\(name)\",\"value\":\(value)}"
        case .delete(let name): "{\"delete\":\"\(name)\"}"
        case .increment(let name): "{\"increment\":\"\(name)\"}"
        case .get(let name): "{\"get\":\"\(name)\"}"
        }
    }
}
