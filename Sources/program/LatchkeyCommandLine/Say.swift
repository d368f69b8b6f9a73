internal import Foundation
internal import LatchkeyReport

/// The name under which the program was started, for messages.
package let programName =
    (CommandLine.arguments.first ?? "").split(separator: "/").last
    .map(String.init) ?? "latchkey"

/// Puts `/dev/null` in the place of standard streams that are closed.
///
/// Otherwise the next file or connection would get the descriptor, and with it all printed
/// text. It is opened for reading only, so that printing is still an error.
package func openStandardStreams() {
    for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
        // open() returns the lowest number that is free.
        guard unsafe open("/dev/null", O_RDONLY) == descriptor else { exit(2) }
    }
}

/// Writes an error to standard error: one line, which is broken between words where the width of
/// the terminal is known.
package func complain(_ message: String) {
    let isKnown = isatty(2) == 1 || ProcessInfo.processInfo.environment["COLUMNS"] != nil
    let text = "\(programName): \(message)"
    let width = TerminalStyle(descriptor: 2).width
    say((isKnown ? TextLines.wrapped(text, indent: 2, width: width) : text) + "\n", to: 2)
}

/// Prints a manual, fitted to the terminal.
package func sayManual(_ text: String) {
    say(TextLines.fitted(text, width: TerminalStyle(descriptor: 1).width))
}

/// Writes text to a file descriptor.
///
/// A reader that has closed its end is not an error. If standard output cannot be written for
/// another reason, such as a full disk, the program ends with a message and status 2, because its
/// result is missing.
package func say(_ text: String, to descriptor: Int32 = 1) {
    let error = trySay(text, to: descriptor)
    guard descriptor == 1, error != 0, error != EPIPE else { return }
    let reason = unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
    say("\(programName): standard output cannot be written: \(reason).\n", to: 2)
    exit(2)
}

/// Writes text that is not the program's result; returns the number of an error, or 0.
@discardableResult
package func trySay(_ text: String, to descriptor: Int32 = 1) -> Int32 {
    tryWrite(text.utf8, to: descriptor)
}

/// Writes bytes; returns the number of an error, or 0.
package func tryWrite(_ bytes: some Collection<UInt8>, to descriptor: Int32 = 1) -> Int32 {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { bytes in
            unsafe write(descriptor, bytes.baseAddress, bytes.count)
        }
        guard count > 0 || errno == EINTR else {
            return errno
        }
        rest = rest.dropFirst(max(0, count))
    }
    return 0
}
