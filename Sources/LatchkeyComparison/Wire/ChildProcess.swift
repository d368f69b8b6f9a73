internal import CLatchkeySystem
internal import Foundation
internal import Glibc

/// Another program, whose standard output is read here.
///
/// It is killed when the thread that started it ends, so that none is left behind even if this
/// process is killed. It is in a process group of its own: a terminal's Ctrl-C reaches this process
/// only, which then decides. Foundation's `Process` offers no such bond and no bounded wait.
///
/// Nothing here waits without a bound: a program closes its output when it ends, so that waiting
/// for the end is a `poll(2)` on the output.
final class ChildProcess {
    let identifier: pid_t

    /// How long one `poll(2)` lasts at most, between looks for an interrupt.
    private static let lookMilliseconds = 50.0
    private static let byteCountMax = 1 << 20

    private let descriptor: Int32
    /// The exit status, once the process is no more and its identifier another's to have.
    private var status: Int32?

    /// Starts the program.
    ///
    /// What it reads as standard input is `input`, or nothing.
    ///
    /// - Throws: The reason, which is not yet a sentence.
    init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment,
        input: Int32? = nil
    ) throws(WireError) {
        let arguments = unsafe CStringList([program] + arguments)
        let environment = unsafe CStringList(environment.map { "\($0.key)=\($0.value)" })
        defer {
            unsafe arguments.free()
            unsafe environment.free()
        }
        var (identifier, descriptor): (pid_t, Int32) = (0, -1)
        let error = unsafe program.withCString { path in
            unsafe arguments.pointers.withUnsafeBufferPointer { arguments in
                unsafe environment.pointers.withUnsafeBufferPointer { environment in
                    var program = unsafe latchkey_system_program(
                        path: path,
                        arguments: arguments.baseAddress,
                        environment: environment.baseAddress,
                        input: input ?? -1
                    )
                    return unsafe latchkey_system_child_start(&program, &identifier, &descriptor)
                }
            }
        }
        guard error == 0 else {
            throw WireError(
                unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
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
    func output(
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

    /// Sends SIGTERM and does not wait.
    func askToEnd() {
        guard status == nil else { return }
        kill(identifier, SIGTERM)
    }

    /// Sends SIGTERM, and SIGKILL to a program that does not end within so many seconds.
    ///
    /// - Returns: the status that it ended with, 128 and the signal if one ended it.
    @discardableResult
    func end(graceSeconds: Double) -> Int32 {
        if let status { return status }
        askToEnd()
        if output(withinSeconds: graceSeconds) == nil {
            kill(identifier, SIGKILL)
        }
        let found = latchkey_system_child_wait(identifier)
        status = found
        return found
    }
}

/// Texts as C has a list of them: pointers, and a null one behind the last.
@unsafe
private struct CStringList {
    let pointers: [UnsafeMutablePointer<CChar>?]

    init(_ texts: [String]) {
        unsafe pointers = texts.map { unsafe strdup($0) } + [nil]
    }

    func free() {
        for index in unsafe pointers.indices {
            unsafe Glibc.free(pointers[index])
        }
    }
}
