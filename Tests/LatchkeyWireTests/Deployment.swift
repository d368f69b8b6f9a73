import Foundation
import LatchkeyService
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import latchkey

/// How a service runs in this process: a test of what clients see runs in all of these ways.
///
/// The view of a client depends on how a strategy answers, not on its name: in place, later on
/// another thread, in a task, or with reads beside writes. The laws show that all strategies keep
/// the same promises; in the deep form of the tests, histories of a service with each of them do.
enum Deployment: String, CustomTestStringConvertible, Sendable {
    case inProcess = "lock"
    case serialQueueAsync = "serial-queue-async"
    case actor
    case snapshot
    case data = "lock, with data on disk"
    case oneReplica = "a cluster of one replica"
    case threeReplicas = "a cluster of three replicas"
    /// Only for what is different over TLS.
    case encrypted = "lock, over TLS"

    /// Without the one over TLS.
    static let allCases = [
        inProcess, serialQueueAsync, actor, snapshot, data, oneReplica, threeReplicas,
    ]

    /// The deployments in which the strategy orders reads and changes, and not a log.
    static let strategies = [inProcess, serialQueueAsync, actor, snapshot]

    var testDescription: String { rawValue }

    /// The name of the strategy that serves.
    var strategy: String { Self.strategies.contains(self) ? rawValue : "lock" }

    /// Whether changes are made in the order of a log.
    var isReplica: Bool { self == .oneReplica || self == .threeReplicas }

    /// Whether answers can be written past the HTTP library.
    var writesPastLibrary: Bool { self != .encrypted }

    /// Starts a service, runs the body, and ends the service, which must end without errors.
    ///
    /// Limits are changed as `LATCHKEY_LIMITS` does it.
    func serve(
        _ flags: [String] = [],
        limits: String? = nil,
        _ body: @escaping @Sendable (Site) throws -> Void
    ) async throws {
        guard isReplica else {
            return try await run(flags, limits: limits) { site, _ in try body(site) }
        }
        let count = self == .oneReplica ? 1 : 3
        try await serveOnCluster(of: count, common(flags) + flags, limits, body)
    }

    /// As `serve` without a cluster, for a body that ends the service, or makes it read its files
    /// again.
    func run(
        _ flags: [String] = [],
        limits: String? = nil,
        cutsOff cutOff: (requests: Int, answers: Int) = (0, 0),
        _ body: @escaping @Sendable (Site, Running) throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        var all = common(flags) + flags
        if self == .data { all += ["--data", folder.path + "/data"] }
        if self == .encrypted { all += try folder.tlsFlags(TestCertificate()) }
        let service = try RunningService(ServeCommand.configuration(all, limits: limits))
        EncryptedPorts.set(service.port, isEncrypted: self == .encrypted)
        let running = Running(service)
        let outcome = await catching { try body(Site(port: service.port), running) }
        EncryptedPorts.set(service.port, isEncrypted: false)
        let drained = try await offPool { running.end() }
        try outcome.get()
        let (requests, answers) = cutOff
        #expect(
            drained == Drained(requestCount: requests, answerCount: answers, isWritten: true)
        )
        withExtendedLifetime(folder) {}
    }

    /// Flags that a test can override: tests name revisions, and a drain has its time.
    private func common(_ flags: [String]) -> [String] {
        let pairs = [
            ("--start-revision", "0"), ("--drain-seconds", "5"), ("--strategy", strategy),
        ]
        return ["--port", "0", "--log-level", "error"]
            + pairs.filter { !flags.contains($0.0) }.flatMap { [$0.0, $0.1] }
    }

    /// The first replica is the service under test, and in the end all have the same state.
    private func serveOnCluster(
        of count: Int,
        _ flags: [String],
        _ limits: String?,
        _ body: @escaping @Sendable (Site) throws -> Void
    ) async throws {
        let cluster = try await offPool {
            try ClusterInProcess(flags, limits: limits, count: count)
        }
        let outcome = await catching {
            try body(Site(port: cluster.port))
            try cluster.awaitSame()
        }
        let drained = try await offPool { cluster.drain() }
        try outcome.get()
        #expect(drained == Drained(requestCount: 0, answerCount: 0, isWritten: true))
    }

    private func catching(
        _ body: @escaping @Sendable () throws -> Void
    ) async -> Result<Void, any Error> {
        do {
            return .success(try await offPool(body))
        } catch {
            return .failure(error)
        }
    }
}

/// A service in this process, which ends when its test says so.
///
/// **Design.** The lock guards the thread that drains, and what the drain has cut off.
final class Running: Sendable {
    let service: RunningService
    private let ending = Guarded<TestThread?>(nil)
    private let drained = Guarded<Drained?>(nil)

    init(_ service: RunningService) {
        self.service = service
    }

    /// Begins the end, if it has not begun.
    func drain() {
        ending.write { ending in
            ending =
                ending
                ?? TestThread { [self] in
                    let found = service.drain()
                    drained.write { $0 = found }
                }
        }
    }

    /// Waits for the end.
    func end() -> Drained? {
        drain()
        guard ending.read({ $0 })?.join() == true else { return nil }
        return drained.read { $0 }
    }

    /// Makes the service read the files of its tokens again.
    func reload() {
        service.reload(onlyIfChanged: false, Log(format: .text, level: .error))
    }
}
