import Foundation
import LatchkeyService
import LatchkeySettings
import LatchkeyTestSupport

@testable import LatchkeyAccess
@testable import LatchkeyFrame
@testable import latchkey

/// Replicas of a new cluster in this process, over the etcd of all tests.
///
/// The first has the flags of the test; the others have what all replicas must have in common.
final class ClusterInProcess: Sendable {
    private static let strategies = ["lock", "snapshot", "adaptive"]

    private let folder: TemporaryFolder
    private let tokenFile: String
    private let services: [RunningService]

    init(_ flags: [String], limits: String? = nil, count: Int) throws {
        let etcd = try EtcdProcesses.shared.get()
        let folder = try TemporaryFolder()
        let cluster = [
            "--cluster", etcd.addresses.joined(separator: ","), "--cluster-name",
            UUID().uuidString,
        ]
        func data(_ index: Int) -> [String] { ["--data", "\(folder.path)/\(index)"] }
        let first = try ServeCommand.configuration(
            flags + cluster + (flags.contains("--data") ? [] : data(0)),
            limits: limits
        )
        tokenFile = first.access.tokenFile
        let bodyBound = ServiceConfiguration.settings.filter { $0.name == "max-body-bytes" }
            .flatMap { ["--\($0.name)", $0.text(in: first)] }
        services = try (0..<count).map { index in
            guard index > 0 else { return try RunningService(first) }
            var other = try ServeCommand.configuration(
                [
                    "--port", "0", "--log-level", "error", "--drain-seconds", "5", "--strategy",
                    Self.strategies[index],
                ] + cluster + data(index) + bodyBound
            )
            other.storeLimits = first.storeLimits
            other.idempotency = first.idempotency
            return try RunningService(other)
        }
        self.folder = folder
        for service in services { EncryptedPorts.set(service.port, isEncrypted: false) }
    }

    /// That of the first replica.
    var port: UInt16 { services[0].port }

    var ports: [UInt16] { services.map(\.port) }

    /// Waits until all replicas have the same state.
    func awaitSame() throws {
        // The test has tokens of its own, and counts them.
        var headers: [String] = []
        if !tokenFile.isEmpty {
            let token = Tokens.make("same", ["read", "export"])
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: tokenFile))
            try file.seekToEnd()
            try file.write(contentsOf: Data("\(token.line)\n".utf8))
            services[0].reload(onlyIfChanged: false, Log(format: .text, level: .error))
            headers = ["Authorization: Bearer \(token.secret)"]
        }
        try eventually("all replicas have the same state") {
            // From an address that the test does not use, because addresses have limits.
            let answers = try services.map {
                try Site(port: $0.port)
                    .ask("GET", "/v1/export?replica=true", headers: headers, from: 99)
            }
            return answers[0].status == 200 && Set(answers.map(\.text)).count == 1
        }
    }

    /// Ends all replicas, one after the other; what was cut off, together.
    func drain() -> Drained {
        let all = services.map { $0.drain() }
        return Drained(
            requestCount: all.map(\.requestCount).reduce(0, +),
            answerCount: all.map(\.answerCount).reduce(0, +),
            isWritten: all.allSatisfy(\.isWritten)
        )
    }
}
