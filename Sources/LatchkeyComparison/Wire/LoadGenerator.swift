internal import CLatchkeySystem
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
        /// Of all requests, those that were refused included, as `wrk` corrects it.
        ///
        /// For each response that took more than twice the mean interval between the requests of
        /// one connection, `wrk` adds made-up ones for the requests that could have been sent
        /// meanwhile, and only then lets the script read the quantiles and the mean. `timedCount`
        /// counts the real ones.
        var response: ComparisonReport.Durations
    }

    private static let timeoutSeconds = 5
    /// How much longer than it should `wrk` may take before it is killed.
    private static let patienceSeconds = 15.0

    private let executable: String
    private let script: Int32
    private let seed: UInt64

    /// Finds `wrk` and keeps the script that it reads in a file without a name, until ``end()``.
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
        script = unsafe latchkey_system_memory_file("latchkey-load.lua")
        guard script >= 0 else { throw WireError("The script for wrk cannot be kept.") }
        let text = Array(LoadScript.text.utf8)
        let count = unsafe text.withUnsafeBytes { bytes in
            unsafe write(script, bytes.baseAddress, bytes.count)
        }
        guard count == text.count else {
            close(script)
            throw WireError("The script for wrk cannot be written.")
        }
    }

    func end() {
        close(script)
    }

    /// Drives a service.
    ///
    /// Blocks for the duration, or until an interrupt, which ends `wrk` and is an error.
    func run(
        _ service: ServiceProcess,
        _ target: Target,
        connections: Int,
        seconds: Int,
        round: Int,
        isInterrupted: () -> Bool
    ) throws(WireError) -> Result {
        let process: ChildProcess
        do {
            process = try ChildProcess(
                executable,
                [
                    "--threads", "1", "--connections", "\(connections)",
                    "--duration", "\(seconds)s", "--timeout", "\(Self.timeoutSeconds)s",
                    // What it is given as standard input, opened anew each time it is read.
                    "--script", "/proc/self/fd/0", "http://127.0.0.1:\(service.port)/", "--",
                ] + arguments(target, round: round),
                input: script
            )
        } catch {
            throw WireError("wrk cannot be run: \(error.message).")
        }
        let output = process.output(
            withinSeconds: Double(seconds) + Self.patienceSeconds,
            isInterrupted: isInterrupted
        )
        guard let output else {
            process.end(graceSeconds: 0)
            throw WireError(isInterrupted() ? "wrk was interrupted." : "wrk did not end.")
        }
        let status = process.end(graceSeconds: Self.patienceSeconds)
        let text = String(decoding: output, as: UTF8.self)
        guard status == 0, let result = Result(output: text) else {
            throw WireError("wrk ended without figures (status \(status)).")
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
                p999Nanoseconds: Int(figures[0]) >= Quantiles.rareCountMin ? nanoseconds(8) : nil,
                maxNanoseconds: nanoseconds(9)
            )
        )
    }
}
