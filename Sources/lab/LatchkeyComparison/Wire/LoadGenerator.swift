internal import CLatchkeyMachine
internal import Foundation
internal import Glibc
internal import LatchkeyMachine

/// `wrk`, which drives a service and reports the figures of a client.
struct LoadGenerator {
    /// The client's figures.
    struct Result: Equatable {
        /// Answered with success.
        var operations: Int
        var seconds: Double
        /// Answered by an error, such as 503 because a backlog was full.
        var refused: Int
        /// Connections that failed or requests that got no answer in time.
        var lost: Int
        /// The response times of all requests, refused ones included, as `wrk` corrects them.
        ///
        /// For each response that took more than twice the mean interval between the requests of
        /// one connection, `wrk` adds made-up ones for the requests that could have been sent
        /// meanwhile, and only then lets the script read the quantiles and the mean. `timedCount`
        /// counts the real ones.
        var response: ComparisonReport.Durations
    }

    private static let timeoutSeconds = 5
    /// The time after its duration in which `wrk` must end before it is killed.
    private static let patienceSeconds = 15.0

    private let executable: String
    /// The script that `wrk` reads, in a file without a name.
    private let script: FileHandle
    private let seed: UInt64

    /// Finds `wrk` and writes its script.
    init(seed: UInt64) throws(ComparisonError) {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let programs = path.split(separator: ":").map { String($0) + "/wrk" }
        guard let found = programs.first(where: FileManager.default.isExecutableFile) else {
            throw ComparisonError(
                "--transport http needs the program wrk, which is not in PATH. "
                    + "Install it: apt install wrk."
            )
        }
        executable = found
        self.seed = seed
        let descriptor = unsafe latchkey_machine_memory_file("latchkey-load.lua")
        script = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try script.write(contentsOf: Data(LoadScript.text.utf8))
        } catch {
            throw ComparisonError("The script for wrk cannot be written.")
        }
    }

    /// Drives a service with the workload, or with requests that touch no property: the cost of
    /// HTTP alone.
    ///
    /// Blocks for the duration, or until an interrupt, which ends `wrk` and is an error.
    func run(
        _ service: ServiceProcess,
        _ workload: ComparisonReport.Workload?,
        connections: Int,
        seconds: Int,
        round: Int,
        isInterrupted: () -> Bool
    ) throws(ComparisonError) -> Result {
        let process: ChildProcess
        do throws(ChildProcess.StartFailure) {
            process = try ChildProcess(
                executable,
                [
                    "--threads", "1", "--connections", "\(connections)",
                    "--duration", "\(seconds)s", "--timeout", "\(Self.timeoutSeconds)s",
                    // Its standard input, opened again each time it is read.
                    "--script", "/proc/self/fd/0", "http://127.0.0.1:\(service.port)/", "--",
                ] + arguments(workload, round: round),
                input: script.fileDescriptor
            )
        } catch {
            throw ComparisonError("wrk cannot be run: \(error.reason).")
        }
        let output = process.output(
            withinSeconds: Double(seconds) + Self.patienceSeconds,
            isInterrupted: isInterrupted
        )
        guard let output else {
            process.end(graceSeconds: 0)
            throw ComparisonError(isInterrupted() ? "wrk was interrupted." : "wrk did not end.")
        }
        let status = process.end(graceSeconds: Self.patienceSeconds)
        let text = String(decoding: output, as: UTF8.self)
        guard status == 0, let result = Result(output: text) else {
            throw ComparisonError("wrk printed no figures (status \(status)).")
        }
        return result
    }

    private func arguments(_ workload: ComparisonReport.Workload?, round: Int) -> [String] {
        let seed = "\((self.seed &+ UInt64(round)) % 1_000_000)"
        guard let workload else { return ["nothing", "1", "1", "0", seed] }
        var exponent = 0.0
        if case .zipf(let value) = workload.skew { exponent = value }
        return ["keys", "\(workload.keys)", "\(workload.readRatio)", "\(exponent)", seed]
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
