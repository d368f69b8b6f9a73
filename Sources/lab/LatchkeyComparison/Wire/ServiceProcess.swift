internal import Foundation
internal import LatchkeyContention
internal import LatchkeyMachine
internal import LatchkeyStrategies

/// `latchkey serve` as a child process on a free port of this machine.
///
/// Ends with ``end()``, and with the thread that made it, however that ends.
final class ServiceProcess {
    /// The time in which a service must answer.
    private static let startSeconds = 30.0
    /// The time that it may take to receive a request, and to answer.
    private static let timeoutSeconds = 10
    /// The time in which it may finish its requests.
    private static let drainSeconds = 2

    private let process: ChildProcess
    let port: UInt16

    /// Starts the service and waits until it answers.
    init(
        _ service: HTTPComparison.Service,
        executable: String,
        isInterrupted: () -> Bool
    ) throws(ComparisonError) {
        do throws(ChildProcess.StartFailure) {
            process = try ChildProcess(
                executable,
                Self.arguments(service),
                // The user's settings for services do not apply to this one.
                environment: ProcessInfo.processInfo.environment.filter {
                    !$0.key.hasPrefix("LATCHKEY_")
                }
            )
        } catch {
            throw ComparisonError("'\(executable) serve' cannot be started: \(error.reason).")
        }
        let output = process.output(
            until: UInt8(ascii: "\n"),
            withinSeconds: Self.startSeconds,
            isInterrupted: isInterrupted
        )
        let line = (output ?? []).prefix { $0 != UInt8(ascii: "\n") }
        guard let port = Self.port(of: String(decoding: line, as: UTF8.self)) else {
            process.end(graceSeconds: 0)
            throw ComparisonError(
                "The service did not start under \(service.strategy.rawValue)."
            )
        }
        self.port = port
    }

    /// The command line of a service.
    static func arguments(_ service: HTTPComparison.Service) -> [String] {
        [
            "serve", "--strategy", service.strategy.rawValue, "--host", "127.0.0.1", "--port", "0",
            "--stripes", "\(service.strategy.traits.prefersOneStripe ? 1 : service.stripes)",
            "--metering", "sampled", "--max-connections-per-address", "0",
            "--drain-seconds", "\(drainSeconds)", "--log-level", "error",
        ]
    }

    /// Asks the service to drain, without waiting for it.
    func askToEnd() {
        process.askToEnd()
    }

    /// Lets the service drain, and kills it if that takes longer than it may.
    func end() {
        process.end(graceSeconds: Double(Self.drainSeconds) + 1)
    }

    /// The processor time that the service has used, in seconds.
    var processorSeconds: Double? { process.processorSeconds }

    /// The service's own report on its strategy.
    func contention(_ strategy: StrategyKind) throws(ComparisonError) -> ContentionReport.Row {
        let answer = try answer("GET", "/v1/contention")
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard answer.status == 200,
            let report = try? decoder.decode(ContentionReport.self, from: Data(answer.body)),
            let row = report.rows.first(where: {
                $0.strategy == strategy.rawValue && $0.role == .serving
            })
        else {
            throw ComparisonError(
                "The service's /v1/contention cannot be read (\(answer.status))."
            )
        }
        return row
    }

    func resetContention() throws(ComparisonError) {
        let answer = try answer("POST", "/v1/contention/reset")
        guard answer.status == 204 else {
            throw ComparisonError("/v1/contention/reset answers \(answer.status).")
        }
    }

    /// Makes the properties that the load reads and writes.
    func prepare(keys: Int, isInterrupted: () -> Bool) throws(ComparisonError) {
        for key in 0..<keys where !isInterrupted() {
            let path = "/v1/properties/\(LoadScript.name(key))"
            let answer = try answer("PUT", path, body: LoadScript.value)
            guard [200, 201, 204].contains(answer.status) else {
                throw ComparisonError("The service answers \(answer.status) to a PUT.")
            }
        }
    }

    private func answer(
        _ method: String,
        _ path: String,
        body: String = ""
    ) throws(ComparisonError) -> (status: Int, body: [UInt8]) {
        do {
            return try LoopbackRequest.answer(
                port: port,
                method: method,
                path: path,
                body: body,
                timeoutSeconds: Self.timeoutSeconds
            )
        } catch {
            throw ComparisonError("The service cannot be used: \(error.message).")
        }
    }

    /// The port in `latchkey: listening on http://127.0.0.1:40123 (strategy lock)`.
    static func port(of line: String) -> UInt16? {
        guard line.hasPrefix("latchkey: listening on http://"),
            let address = line.split(separator: " ").first(where: { $0.hasPrefix("http://") })
        else { return nil }
        return address.split(separator: ":").last.flatMap { UInt16($0) }
    }
}
