import Foundation
import LatchkeyService
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// The ways to run the service under test: each test body runs in all, with the same flags.
enum Deployment: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case inProcess = "in this process"
    case program = "as the program"
    case encrypted = "over TLS"
    case oneReplica = "on a cluster of one replica"
    case threeReplicas = "on a cluster of three replicas"

    /// For tests of connections, hosts, origins and rates, which are decided before the store is
    /// asked: a replica has the same parts for that.
    static let withoutClusters = [inProcess, program, encrypted]

    /// For tests with arguments of their own.
    static let inThisProcess = [inProcess] + clusters

    private static let clusters = [oneReplica, threeReplicas]

    /// Each strategy, but for clusters some of each kind: a replica executes one change after the
    /// other under any of them.
    static let withStrategies =
        withoutClusters.flatMap { way in StrategyKind.allCases.map { (way, $0) } }
        + clusters.flatMap { way in
            [StrategyKind.lock, .snapshot, .barrierQueueAsync, .actor].map { (way, $0) }
        }

    var testDescription: String { rawValue }

    /// How often a service reads each stripe at its start: once, if it keeps data.
    var stripeReadCount: Int { Self.clusters.contains(self) ? 1 : 0 }

    /// Whether changes are made by the threads of a pool, instead of those of the connections.
    var executesOnPool: Bool { Self.clusters.contains(self) }

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
        // Tests name revisions.
        let first = flags.contains("--start-revision") ? [] : ["--start-revision", "0"]
        let common = ["--port", "0", "--log-level", "error", "--drain-seconds", "5"]
        let flags = common + first + flags
        switch self {
        case .inProcess:
            try await serveInProcess(flags, limits, body)
        case .encrypted:
            let folder = try TemporaryFolder()
            try await serveInProcess(flags + folder.tlsFlags(TestCertificate()), limits, body)
        case .oneReplica:
            try await serveOnCluster(of: 1, flags, limits, body)
        case .threeReplicas:
            try await serveOnCluster(of: 3, flags, limits, body)
        case .program:
            let program = try Program(["serve"] + flags, limits: limits)
            let outcome = await catching { try body(Site(port: program.awaitPort())) }
            let status = try await offPool { program.end() }
            try outcome.get()
            #expect(status == 0)
        }
    }

    private func serveInProcess(
        _ flags: [String],
        _ limits: String?,
        _ body: @escaping @Sendable (Site) throws -> Void
    ) async throws {
        let service = try RunningService(ServeCommand.configuration(flags, limits: limits))
        EncryptedPorts.set(service.port, isEncrypted: self == .encrypted)
        let outcome = await catching { try body(Site(port: service.port)) }
        EncryptedPorts.set(service.port, isEncrypted: false)
        let drained = try await offPool { service.drain() }
        try outcome.get()
        #expect(drained == Drained(requestCount: 0, answerCount: 0, isWritten: true))
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

extension TemporaryFolder {
    /// Writes a certificate and its key, and returns the flags that name the files.
    func tlsFlags(_ certificate: TestCertificate) throws -> [String] {
        try write(certificate)
        return ["--tls-certificate", path + "/certificate.pem", "--tls-key", path + "/key.pem"]
    }

    func write(_ certificate: TestCertificate) throws {
        try write("certificate.pem", certificate.certificate)
        try write("key.pem", certificate.key)
    }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }
}

/// A running service, and short ways to send it requests.
struct Site: Sendable {
    let port: UInt16

    /// Connects from 127.0.0.N.
    func client(from number: UInt8 = 1) throws -> HTTPClient {
        try HTTPClient(port: port, from: number)
    }

    /// One request on a connection of its own, from 127.0.0.N.
    func ask(
        _ method: String,
        _ target: String,
        _ body: String? = nil,
        headers: [String] = [],
        from number: UInt8 = 1
    ) throws -> HTTPAnswer {
        try client(from: number)
            .request(method, target, headers: headers, body: body.map { Array($0.utf8) })
    }

    /// Waits until a metric without labels has a value; asks from 127.0.0.N.
    func awaitMetric(
        _ metric: String,
        _ value: Int,
        headers: [String] = [],
        from number: UInt8 = 1
    ) throws {
        try eventually("\(metric) is \(value)") {
            try ask("GET", "/metrics", headers: headers, from: number).text
                .contains("\n\(metric) \(value)\n")
        }
    }

    /// Checks that the service is up, whatever was done to it before.
    func isWell() throws {
        #expect(try ask("GET", "/healthz").text == #"{"status":"ok"}"#)
    }
}
