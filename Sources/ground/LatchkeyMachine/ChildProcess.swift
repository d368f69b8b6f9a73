internal import CLatchkeyMachine
internal import CLatchkeySystem
internal import Foundation
internal import Glibc

/// Another program, whose standard output is read here.
///
/// It is killed when the thread that started it ends, so that none stays alive even if this process
/// is killed. It is in a process group of its own: a terminal's Ctrl-C reaches this process only,
/// which then decides. Foundation's `Process` offers neither this nor a wait with a limit.
///
/// Nothing here waits without a limit: a program closes its output when it ends, so that waiting
/// for the end is a `poll(2)` on the output.
package final class ChildProcess {
    /// Why a program could not be started, as the system says it.
    package struct StartFailure: Error, Equatable {
        package let reason: String
    }

    private let identifier: pid_t

    /// The longest `poll(2)`, between looks for an interrupt.
    private static let lookMilliseconds = 50.0
    private static let byteCountMax = 1 << 20

    private let descriptor: Int32
    /// The exit status, once the process has ended.
    ///
    /// Its identifier may then belong to another process.
    private var status: Int32?

    /// Starts the program.
    ///
    /// Its standard input is `input`, or empty.
    ///
    /// - Throws: The system's reason, which is not yet a sentence.
    package init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment,
        input: Int32? = nil
    ) throws(StartFailure) {
        let (arguments, environment) = (
            CTexts([program] + arguments), CTexts(environment: environment)
        )
        defer { withExtendedLifetime((arguments, environment)) {} }
        var (identifier, descriptor): (pid_t, Int32) = (0, -1)
        let error = unsafe latchkey_machine_child_start(
            program,
            arguments.list,
            environment.list,
            input ?? -1,
            &identifier,
            &descriptor
        )
        guard error == 0 else {
            throw StartFailure(
                reason: unsafe strerror(error).map { unsafe String(cString: $0) }
                    ?? "error \(error)"
            )
        }
        self.identifier = identifier
        self.descriptor = descriptor
    }

    deinit {
        end(graceSeconds: 0)
        close(descriptor)
    }

    /// Reads until the output has this byte, or until it ends.
    ///
    /// - Returns: what was read; `nil` if it takes longer than it may, or after an interrupt.
    package func output(
        until last: UInt8? = nil,
        withinSeconds seconds: Double,
        isInterrupted: () -> Bool = { false }
    ) -> [UInt8]? {
        let start = latchkey_system_nanoseconds()
        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 12)
        while !isInterrupted(), output.count <= Self.byteCountMax {
            let left = seconds * 1e3 - Double(latchkey_system_nanoseconds() - start) / 1e6
            var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let wait = Int32(max(0, min(Self.lookMilliseconds, left)))
            guard unsafe poll(&watched, 1, wait) > 0 else {
                guard left > 0 else { return nil }
                continue
            }
            let count = unsafe chunk.withUnsafeMutableBytes { chunk in
                unsafe read(descriptor, chunk.baseAddress, chunk.count)
            }
            guard count > 0 || errno == EINTR && count < 0 else { return output }
            let found = chunk[..<max(0, count)]
            output += found
            if let last, found.contains(last) { return output }
        }
        return nil
    }

    /// The processor time that the process has used, in seconds.
    package var processorSeconds: Double? {
        var clock = clockid_t()
        var time = timespec()
        guard unsafe clock_getcpuclockid(identifier, &clock) == 0,
            unsafe clock_gettime(clock, &time) == 0
        else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Sends SIGTERM and does not wait.
    package func askToEnd() {
        guard status == nil else { return }
        kill(identifier, SIGTERM)
    }

    /// Sends SIGTERM, and SIGKILL if the program does not end within this many seconds.
    ///
    /// - Returns: the status that it ended with, 128 and the signal if one ended it.
    @discardableResult
    package func end(graceSeconds: Double) -> Int32 {
        if let status { return status }
        askToEnd()
        if output(withinSeconds: graceSeconds) == nil {
            kill(identifier, SIGKILL)
        }
        let found = latchkey_machine_child_wait(identifier)
        status = found
        return found
    }
}
