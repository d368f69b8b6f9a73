internal import Foundation
internal import Glibc

/// `wrk`, which drives a service and says what a client sees.
struct LoadGenerator {
    /// What the load touches.
    enum Target {
        case properties(ComparisonReport.Workload)
        /// A route that touches no property: what HTTP alone costs.
        case nothing
    }

    /// What the client saw.
    struct Result: Equatable {
        /// Answered as they should be.
        var operations: Int
        var seconds: Double
        /// Answered by an error, such as 503 because a backlog was full.
        var refused: Int
        /// Connections that failed or requests that got no answer in time.
        var lost: Int
        var response: ComparisonReport.Durations
    }

    private static let timeoutSeconds = 5

    private let executable: String
    private let script: String
    private let seed: UInt64

    /// Finds `wrk` and writes the script that it reads to a file, which ``remove()`` takes away.
    init(seed: UInt64) throws(WireError) {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let programs = path.split(separator: ":").map { String($0) + "/wrk" }
        let found = programs.first { unsafe access($0, X_OK) == 0 }
        guard let found else {
            throw WireError(
                "--transport http needs the program wrk, which is not in PATH. "
                    + "Debian's package has the same name."
            )
        }
        executable = found
        self.seed = seed
        script = NSTemporaryDirectory() + "/latchkey-\(getpid())-load.lua"
        do {
            try ReportFile.write(Array(LoadScript.text.utf8), to: script)
        } catch {
            throw WireError(error.message)
        }
    }

    func remove() {
        unsafe unlink(script)
    }

    /// Drives a service.
    ///
    /// Blocks for the duration.
    func run(
        port: UInt16,
        _ target: Target,
        connections: Int,
        seconds: Int,
        round: Int
    ) throws(WireError) -> Result {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments =
            [
                "--threads", "1", "--connections", "\(connections)", "--duration", "\(seconds)s",
                "--timeout", "\(Self.timeoutSeconds)s", "--script", script,
                "http://127.0.0.1:\(port)/", "--",
            ] + arguments(target, round: round)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let text: String
        do {
            try process.run()
            let data = try output.fileHandleForReading.readToEnd() ?? Data()
            text = String(decoding: data, as: UTF8.self)
        } catch {
            throw WireError("wrk cannot be run: \(error).")
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0, let result = Result(output: text) else {
            throw WireError("wrk ended without figures (status \(process.terminationStatus)).")
        }
        return result
    }

    private func arguments(_ target: Target, round: Int) -> [String] {
        let seed = "\((self.seed &+ UInt64(round)) % 1_000_000)"
        switch target {
        case .nothing:
            return ["nothing", "1", "1", "0", seed]
        case .properties(let workload):
            let exponent: Double
            switch workload.skew {
            case .uniform: exponent = 0
            case .zipf(let value): exponent = value
            }
            return ["keys", "\(workload.keys)", "\(workload.readRatio)", "\(exponent)", seed]
        }
    }
}

extension LoadGenerator.Result {
    /// Reads the line of ``LoadScript``.
    init?(output: String) {
        let line = output.split(separator: "\n").last { $0.hasPrefix(LoadScript.mark + " ") }
        let figures = line?.split(separator: " ").dropFirst().compactMap { Double($0) } ?? []
        guard figures.count == 10, figures.allSatisfy(\.isFinite), figures[1] > 0 else {
            return nil
        }
        func nanoseconds(_ index: Int) -> Double { figures[index] * 1_000 }
        self.init(
            operations: max(0, Int(figures[0] - figures[2])),
            seconds: figures[1] / 1e6,
            refused: Int(figures[2]),
            lost: Int(figures[3]),
            response: ComparisonReport.Durations(
                timedCount: Int(figures[0]),
                meanNanoseconds: nanoseconds(4),
                p50Nanoseconds: nanoseconds(5),
                p90Nanoseconds: nanoseconds(6),
                p99Nanoseconds: nanoseconds(7),
                p999Nanoseconds: nanoseconds(8),
                maxNanoseconds: nanoseconds(9)
            )
        )
    }
}
