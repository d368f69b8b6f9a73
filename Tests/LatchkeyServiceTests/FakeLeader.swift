import Foundation
import LatchkeyHTTP
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyReplicas
@testable import LatchkeyStore

/// A leader whose answers a test decides, and a replica of it in the same process.
///
/// It has no properties, and begins at revision 5.
final class FakeLeader: Sendable {
    /// An answer to `/v1/changes`; nil for one without changes.
    typealias Changes = @Sendable (_ number: Int) -> (status: HTTPStatus, body: String)?

    static let revision: Revision = 5

    let server: HTTPServer
    let state: FollowState
    let follower: Follower
    let journal = Journal(HistoryLimits(), after: 0, start: 0)
    /// When each request came, before it was answered.
    private let arrivals: Guarded<[String: [UInt64]]>

    /// Begins with a replica that has these limits, and answers to `/v1/changes`.
    init(
        _ limits: StoreLimits = StoreLimits(),
        clock: StoreClock = .system,
        _ changes: @escaping Changes
    ) throws {
        let arrivals = Guarded<[String: [UInt64]]>([:])
        self.arrivals = arrivals
        var configuration = HTTPServerConfiguration()
        configuration.port = 0
        server = try HTTPServer(configuration) { exchange in
            let path = String(decoding: exchange.path, as: UTF8.self)
            let count = arrivals.write { arrivals in
                arrivals[path, default: []].append(StateAge.now())
                return arrivals[path]?.count ?? 0
            }
            guard path == "/v1/changes" else {
                let end = "{\"end\":true,\"count\":0,\"revision\":\(Self.revision)}\n"
                return exchange.respond(.ok, body: .bytes(Array(end.utf8)))
            }
            let (status, body) = changes(count) ?? (.ok, Self.page(latest: Self.revision))
            exchange.respond(status, body: .bytes(Array(body.utf8)))
        }
        var settings = FollowSettings()
        settings.leader = "http://127.0.0.1:\(server.port)"
        state = FollowState(leader: settings.leader)
        let log = Log(format: .text, level: .error)
        follower = Follower(settings, state, limits, log, clock: clock)
        let store = PropertyStore.underLock(limits: limits)
        let seed = try follower.seed()
        let copy = LeaderCopy(store, journal, limits)
        copy.replace(with: seed.properties, at: seed.revision)
        follower.start(copy, seed)
    }

    deinit {
        follower.stop()
        _ = server.stop(within: Patience.duration)
    }

    /// A page of changes without any.
    static func page(
        latest: Revision,
        _ changes: String = "",
        next: Revision? = nil
    ) -> String {
        "{\"revision\":\(latest),\"changes\":[\(changes)],\"next\":\(next ?? latest)}"
    }

    /// Waits until this many requests have come, and returns when they did, in nanoseconds.
    func awaitArrivals(_ path: String, _ count: Int) throws -> [UInt64] {
        var found: [UInt64] = []
        try eventually("\(count) requests of \(path)") {
            found = arrivals.read { $0[path] ?? [] }
            return found.count >= count
        }
        return found
    }
}
