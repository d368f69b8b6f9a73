import Dispatch
import LatchkeyGuards
import LatchkeyHTTP
import LatchkeyMetrics
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService
@testable import LatchkeyStore
@testable import LatchkeyWatches

/// Long reads of the history whose clients have gone.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct GivenUpHistoryTests {
    /// A server of a history of 2,000 commits, whose queue the test blocks.
    private final class Rig: Sendable {
        static let commitCount: Revision = 2000

        let server: HTTPServer
        let watched: WatchedHistory
        let journal: Journal
        let places = SharedPlaces(countMax: 1, clientCountMax: 1, refusals: ShareRefusals())
        private let registry = MetricRegistry()
        private let last: Commit

        init() throws {
            let stores = (0..<2).map { _ in PropertyStore.underLock() }
            let (store, behind) = (stores[0], stores[1])
            let journal = Journal(HistoryLimits())
            last = try Self.fill(store, behind, journal)
            self.journal = journal
            // A read need not wait for a revision that no answer has shown.
            let watched = WatchedHistory(behind, journal)
            self.watched = watched
            let answers = AnswerBudget(byteCountMax: 1 << 30)
            var table = RouteTable(
                metrics: RequestMetrics(registry, sendsServerTiming: false, answers: answers)
            )
            let history = HistoryRoutes(watched, places: places)
            PropertyRoutes(store: ServedProperties(store), depthMax: 64, history: history).add(
                to: &table
            )
            history.add(to: &table)
            let exports = ExportQueue(places: places)
            ExportRoutes(store: ServedProperties(store), journal: journal, exports: exports)
                .add(to: &table)
            let router = table.router(hosts: nil)
            var configuration = HTTPServerConfiguration()
            configuration.port = 0
            configuration.answerTimeout = .seconds(600)
            server = try HTTPServer(configuration) { router.handle($0) }
        }

        /// Commits puts of one property; the journal and another store get all but the last one,
        /// which is returned.
        private static func fill(
            _ store: PropertyStore,
            _ behind: PropertyStore,
            _ journal: Journal
        ) throws -> Commit {
            let owner = OwnedBytes([0x6E])
            let name = try unsafe PropertyName(borrowing: owner.bytes, owner: owner)
            let commits = Synchronized<[Commit], LockStrategy>([])
            for _ in 0..<commitCount {
                try store.commit(.increment(name, by: 1), .here()) { decision in
                    if case .success(let commit) = decision {
                        commits.write { $0.append(commit) }
                    }
                }
            }
            let all = commits.read { $0 }
            for commit in all.dropLast() {
                journal.append(commit)
                try behind.apply(commit, .here()) {}
            }
            return try #require(all.last)
        }

        func appendLast() {
            journal.append(last)
        }

        /// How often a route has answered with this status.
        func count(_ route: String, _ status: Int) -> Int {
            let text = String(decoding: registry.text(.text), as: UTF8.self)
            let line = text.split(separator: "\n").first {
                $0.hasPrefix("latchkey_http_requests_total{") && $0.contains("method=\"GET\"")
                    && $0.contains("route=\"\(route)\"") && $0.contains("status=\"\(status)\"")
            }
            return line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
        }

        /// Sends a request, waits until it is suspended, and closes the connection.
        func giveUp(_ target: String) throws -> Bool {
            let client = try LoopbackConnection(port: server.port)
            #expect(client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
            #expect(awaitSuspended(1))
            client.close()
            return awaitSuspended(0)
        }

        private func awaitSuspended(_ count: Int) -> Bool {
            eventually { server.statistics.suspended == count }
        }
    }

    @Test(arguments: [
        ("/v1/properties/none?revision=1", "/v1/properties/{name}", 404),
        ("/v1/changes?prefix=zzz", "/v1/changes", 200),
    ])
    func `a read of the history ends with its client`(
        read: (target: String, route: String, status: Int)
    ) throws {
        let rig = try Rig()
        defer { rig.server.stop(within: Patience.duration) }
        let isHeld = DispatchSemaphore(value: 0)
        rig.watched.later { isHeld.wait() }
        #expect(try rig.giveUp(read.target))
        isHeld.signal()
        // Each turn lets the read make one piece.
        for _ in 0..<Rig.commitCount {
            let turn = DispatchSemaphore(value: 0)
            rig.watched.later { turn.signal() }
            turn.wait()
        }
        #expect(rig.count(read.route, read.status) == 0, "it went on to its end")
        #expect(rig.count(read.route, 503) == 0, "no client got an answer")
    }

    @Test func `an export of the past ends with its client`() throws {
        let rig = try Rig()
        defer { rig.server.stop(within: Patience.duration) }
        // It waits for the last commit.
        #expect(try rig.giveUp("/v1/export?revision=1"))
        #expect(rig.places.count == 1)
        rig.appendLast()
        #expect(eventually { rig.places.count == 0 })
        #expect(rig.count("/v1/export", 200) == 0, "it was made")
    }
}
