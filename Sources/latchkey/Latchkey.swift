internal import Foundation
internal import LatchkeyReport
internal import LatchkeySettings

/// The program: runs the command, and reports an error in the command line as one sentence and
/// status 2.
@main
enum Latchkey {
    static let version = "0.1.0"

    static func main() {
        openStandardStreams()
        // A write to a closed connection is an error of that write and does not end the process.
        signal(SIGPIPE, SIG_IGN)
        let name = CommandLine.arguments.dropFirst().first
        let command = commands.first { $0.name == name }
        let arguments = Array(CommandLine.arguments.dropFirst(2))
        do throws(UsageError) {
            switch (command, name) {
            case (let command?, _):
                let wantsHelp = arguments.contains { ["--help", "-h"].contains($0) }
                wantsHelp ? sayManual(command.manual) : try command.run(arguments)
            case (nil, "--version"):
                say("latchkey \(version)\n")
            case (nil, "--help"), (nil, "-h"), (nil, "help"):
                try sayManual(of: arguments.first)
            case (nil, nil):
                throw UsageError("no command is given.")
            case (nil, let unknown?):
                throw unknownCommand(unknown)
            }
        } catch {
            let help = command.map { "\($0.name) --help" } ?? "--help"
            complain(error.message)
            say("Try 'latchkey \(help)'.\n", to: 2)
            exit(2)
        }
    }

    /// `latchkey help` and `latchkey help COMMAND`.
    private static func sayManual(of name: String?) throws(UsageError) {
        guard let name, !name.hasPrefix("-") else { return sayManual(manual) }
        guard let command = commands.first(where: { $0.name == name }) else {
            throw unknownCommand(name)
        }
        sayManual(command.manual)
    }

    private static func sayManual(_ text: String) {
        say(TextLines.fitted(text, width: TerminalStyle(descriptor: 1).width))
    }

    private static func unknownCommand(_ name: String) -> UsageError {
        let names = commands.map(\.name) + ["--version", "--help"]
        return UsageError(
            "unknown command '\(name)'.\(Suggestion.sentence(for: name, among: names))"
        )
    }

    private static var commands: [Command] {
        [
            Command(name: "serve", manual: ServeCommand.manual, run: ServeCommand.run),
            Command(name: "compare", manual: CompareCommand.manual, run: CompareCommand.run),
            Command(
                name: "strategies",
                manual: StrategiesCommand.manual,
                run: StrategiesCommand.run
            ),
            Command(name: "advise", manual: AdviseCommand.manual, run: AdviseCommand.run),
            Command(name: "health", manual: HealthCommand.manual, run: HealthCommand.run),
        ]
    }

    private struct Command {
        let name: String
        let manual: String
        let run: ([String]) throws(UsageError) -> Void
    }

    /// Puts `/dev/null` in the place of standard streams that are closed.
    ///
    /// Otherwise the next file or connection would get the descriptor, and with it all printed
    /// text. It is opened for reading only, so that printing is still an error.
    private static func openStandardStreams() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // open() returns the lowest number that is free.
            guard unsafe open("/dev/null", O_RDONLY) == descriptor else { exit(2) }
        }
    }

    private static let manual = """
        latchkey: synchronized state over HTTP, and the cost of each strategy

        Usage: latchkey COMMAND [--flag value | --flag=value ...]
               latchkey COMMAND --help

        Commands:
          serve        serve JSON properties, guarded by one strategy
          compare      measure the cost of each strategy and recommend one
          strategies   print the strategies and their guarantees
          advise       say whether a running service should use another strategy
          health       check whether a running service is alive
          --version    print the version
          --help, -h   print this help; 'latchkey COMMAND --help' prints a command's

        Each flag is also an environment variable: --drain-seconds is
        LATCHKEY_DRAIN_SECONDS. The flag wins if both are given.

        Times and sizes take units: 50ns, 10us, 200ms, 2s, 5m, 1h; 512KiB, 2MB, 1GiB.
        A number without a unit is in the unit that the flag's help names.

        """
}

/// Writes an error to standard error: one line, which is broken between words where the width of
/// the terminal is known.
func complain(_ message: String) {
    let isKnown = isatty(2) == 1 || ProcessInfo.processInfo.environment["COLUMNS"] != nil
    let text = "latchkey: \(message)"
    let width = TerminalStyle(descriptor: 2).width
    say((isKnown ? TextLines.wrapped(text, indent: 2, width: width) : text) + "\n", to: 2)
}

/// Writes text to a file descriptor.
///
/// A reader that has closed its end is not an error. If standard output cannot be written for
/// another reason, such as a full disk, the program ends with a sentence and status 2, because its
/// result is missing.
func say(_ text: String, to descriptor: Int32 = 1) {
    let error = trySay(text, to: descriptor)
    guard descriptor == 1, error != 0, error != EPIPE else { return }
    let reason = unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
    say("latchkey: standard output cannot be written: \(reason).\n", to: 2)
    exit(2)
}

/// Writes text that is not the program's result; returns the number of an error, or 0.
@discardableResult
func trySay(_ text: String, to descriptor: Int32 = 1) -> Int32 {
    var rest = Array(text.utf8)[...]
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
