internal import CLatchkeySystem
internal import Foundation
internal import Glibc
internal import LatchkeyContention
internal import LatchkeySync

/// `latchkey serve` as a child process on a free port of this machine.
///
/// Ends with ``end()``. A terminal's Ctrl-C reaches it, too, so that none is left behind.
final class ServiceProcess {
    private let process = Process()
    private(set) var port: UInt16 = 0

    /// Starts the service and waits until it answers.
    init(
        _ strategy: StrategyKind,
        stripes: Int,
        mode: ThreadMode,
        executable: String
    ) throws(WireError) {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = [
            "serve", "--strategy", strategy.rawValue, "--host", "127.0.0.1", "--port", "0",
            "--stripes", "\(strategy == .actor ? 1 : stripes)", "--metering", "sampled",
            "--thread-per-connection=\(mode == .threadPerConnection)",
            "--max-connections-per-address", "0", "--drain-seconds", "2", "--log-level", "error",
        ]
        // What the user has set for services of their own is not for this one.
        process.environment = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("LATCHKEY_")
        }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw WireError("'\(executable) serve' cannot be started: \(error).")
        }
        guard let port = Self.port(of: Self.line(output.fileHandleForReading)) else {
            end()
            throw WireError(
                "The service did not start under \(strategy.rawValue) (\(mode.rawValue))."
            )
        }
        self.port = port
    }

    func end() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    /// The processor time that the service has used, in seconds.
    var processorSeconds: Double? {
        var clock = clockid_t()
        var time = timespec()
        guard unsafe clock_getcpuclockid(process.processIdentifier, &clock) == 0,
            unsafe clock_gettime(clock, &time) == 0
        else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// What the service says of its own strategy.
    func contention(_ strategy: StrategyKind) throws(WireError) -> ContentionReport.Row {
        let answer = try WireClient(port: port).request("GET", "/v1/contention")
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard answer.status == 200,
            let report = try? decoder.decode(ContentionReport.self, from: Data(answer.body)),
            let row = report.rows.first(where: {
                $0.strategy == strategy.rawValue && $0.role == .serving
            })
        else {
            throw WireError("The service's /v1/contention cannot be read (\(answer.status)).")
        }
        return row
    }

    func resetContention() throws(WireError) {
        let answer = try WireClient(port: port).request("POST", "/v1/contention/reset")
        guard answer.status == 204 else {
            throw WireError("/v1/contention/reset answers \(answer.status).")
        }
    }

    /// Makes the properties that the load reads and writes.
    func prepare(keys: Int) throws(WireError) {
        let client = try WireClient(port: port)
        for key in 0..<keys {
            let answer = try client.request(
                "PUT",
                "/v1/properties/\(LoadScript.name(key))",
                body: LoadScript.value
            )
            guard [200, 201, 204].contains(answer.status) else {
                throw WireError("The service answers \(answer.status) to a PUT.")
            }
        }
    }

    /// The first line that the service prints, without its end.
    private static func line(_ handle: FileHandle) -> String {
        var line: [UInt8] = []
        while let byte = try? handle.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// The port in `latchkey: listening on http://127.0.0.1:40123 (strategy lock)`.
    static func port(of line: String) -> UInt16? {
        guard line.hasPrefix("latchkey: listening on http://"),
            let address = line.split(separator: " ").first(where: { $0.hasPrefix("http://") })
        else { return nil }
        return address.split(separator: ":").last.flatMap { UInt16($0) }
    }
}
