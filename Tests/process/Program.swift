import Foundation
import LatchkeyTestSupport
import Testing

/// The real program as a child process.
///
/// SAFETY: `@unchecked Sendable` because one test uses it, one call after the other.
final class Program: @unchecked Sendable {
    private let process = Process()
    enum FullPipe {
        case output
        case errors
    }

    private let output = Pipe()
    private let errors = Pipe()

    /// The program that was built with these tests, or the one that LATCHKEY_TEST_PROGRAM names.
    private static let path =
        ProcessInfo.processInfo.environment["LATCHKEY_TEST_PROGRAM"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("latchkey").path

    /// Starts the program, if wanted after a command of a shell, or with other limits.
    ///
    /// Full pipes for standard output and standard error take nothing, and are not read.
    init(
        _ arguments: [String],
        environment: [String: String] = [:],
        limits: String? = nil,
        after shell: String? = nil,
        fullPipes: [FullPipe] = []
    ) throws {
        for pipe in fullPipes {
            let end = (pipe == .output ? output : errors).fileHandleForWriting
            // As much as a pipe holds (pipe(7)).
            try end.write(contentsOf: Data(repeating: 0x2E, count: 65_536))
        }
        process.executableURL = URL(fileURLWithPath: shell == nil ? Self.path : "/bin/sh")
        process.arguments =
            shell.map { ["-c", $0 + #"; exec "$0" "$@""#, Self.path] + arguments } ?? arguments
        // Without the tests' own settings, of which the program would warn.
        process.environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("LATCHKEY_") }
            .merging(environment) { $1 }
            .merging(limits.map { ["LATCHKEY_LIMITS": $0] } ?? [:]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    /// Starts a service, runs the body, and ends the service, which must end without errors.
    static func serve(
        _ flags: [String] = [],
        _ body: @escaping @Sendable (Site) throws -> Void
    ) async throws {
        let first = flags.contains("--start-revision") ? [] : ["--start-revision", "0"]
        let common = ["serve", "--port", "0", "--log-level", "error"]
        let program = try Program(common + first + flags)
        let status = try await offPool {
            try body(Site(port: try program.awaitPort()))
            return program.end()
        }
        #expect(status == 0)
    }

    /// Runs the program to its end.
    static func result(
        of arguments: [String],
        environment: [String: String] = [:],
        limits: String? = nil,
        after shell: String? = nil
    ) async throws -> (status: Int32, output: String, errors: String) {
        let program = try Program(
            arguments,
            environment: environment,
            limits: limits,
            after: shell
        )
        return try await offPool { program.finish() }
    }

    deinit {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
        }
    }

    var processIdentifier: Int32 { process.processIdentifier }

    /// Waits for the line that says that the service is ready, and returns its port.
    func awaitPort() throws -> UInt16 {
        let line = try firstLine()
        guard line.hasPrefix("latchkey: listening on http"), line.hasSuffix(")"),
            let address = line.split(separator: " ").first(where: { $0.contains("://") }),
            let port = address.split(separator: ":").last.flatMap({ UInt16($0) })
        else {
            let reason = line.isEmpty ? finish().errors : line
            throw ProgramError(description: "unexpected first line: \(reason)")
        }
        EncryptedPorts.set(port, isEncrypted: address.hasPrefix("https"))
        return port
    }

    private func firstLine() throws -> String {
        try line(output) ?? ""
    }

    /// Waits for a line on standard output that begins with this text.
    func awaitOutput(_ text: String) throws {
        while let line = try line(output) {
            if line.hasPrefix(text) { return }
        }
        throw ProgramError(description: "the program ended without printing '\(text)'")
    }

    /// Waits for a line on standard error that contains this text.
    func awaitErrors(containing text: String) throws {
        _ = try errors(through: text)
    }

    /// The next lines on standard error, through the one that contains this text.
    func errors(through text: String) throws -> [String] {
        var lines: [String] = []
        while let line = try line(errors) {
            lines.append(line)
            if line.contains(text) { return lines }
        }
        throw ProgramError(description: "the program ended without saying '\(text)'")
    }

    /// The next line without its line feed; `nil` at the end.
    private func line(_ pipe: Pipe) throws -> String? {
        var line = Data()
        while true {
            let byte = try pipe.fileHandleForReading.read(upToCount: 1) ?? Data()
            if byte.isEmpty, line.isEmpty {
                return nil
            }
            if byte.isEmpty || byte.first == UInt8(ascii: "\n") {
                return String(decoding: line, as: UTF8.self)
            }
            line.append(byte)
        }
    }

    func signal(_ number: Int32) {
        sendSignal(number, to: process.processIdentifier)
    }

    /// Whether a signal was sent and is not handled yet.
    func isPending(_ number: Int32) -> Bool {
        let path = "/proc/\(process.processIdentifier)/status"
        let lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(
            separator: "\n"
        )
        let mask = lines.first { $0.hasPrefix("ShdPnd:") }?.split(separator: "\t").last
        return mask.flatMap { UInt64($0, radix: 16) }.map { $0 >> (number - 1) & 1 == 1 } ?? false
    }

    var hasEnded: Bool { !process.isRunning }

    /// Asks the program to end and waits for its status.
    ///
    /// A program that does not end is killed.
    func end() -> Int32 {
        signal(SIGTERM)
        return wait()
    }

    /// Waits for the program's end, and kills it after a long time.
    func wait() -> Int32 {
        let identifier = process.processIdentifier
        let hasEnded = Gate()
        let watchdog = TestThread {
            if !hasEnded.pass() {
                kill(identifier, SIGKILL)
            }
        }
        process.waitUntilExit()
        hasEnded.open()
        watchdog.join()
        return process.terminationStatus
    }

    /// Asks the program to end, and returns all that it printed.
    func endAndFinish() -> (status: Int32, output: String, errors: String) {
        signal(SIGTERM)
        return finish()
    }

    /// Waits for the program's end and returns all that it printed.
    func finish() -> (status: Int32, output: String, errors: String) {
        let outputText = output.fileHandleForReading.readDataToEndOfFile()
        let errorText = errors.fileHandleForReading.readDataToEndOfFile()
        return (
            wait(), String(decoding: outputText, as: UTF8.self),
            String(decoding: errorText, as: UTF8.self)
        )
    }
}

struct ProgramError: Error {
    let description: String
}
