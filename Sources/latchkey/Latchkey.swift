internal import Foundation

/// The program: picks the command and turns what is wrong with a command line into a sentence and
/// status 2.
@main
enum Latchkey {
    static let version = "0.1.0"

    static func main() {
        openStandardStreams()
        // Writing to a client that has gone is an error of that write, not the process's end.
        signal(SIGPIPE, SIG_IGN)
        let arguments = CommandLine.arguments.dropFirst()
        do {
            try run(arguments.first, Array(arguments.dropFirst()))
        } catch {
            say("latchkey: \(error.message)\nTry 'latchkey --help'.\n", to: 2)
            exit(2)
        }
    }

    /// Puts `/dev/null` in the place of standard streams that are closed.
    ///
    /// Otherwise the next file or connection gets the number, and with it whatever is printed. It
    /// is opened for reading only, so that printing is an error as before.
    private static func openStandardStreams() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // open() returns the lowest number that is free.
            guard unsafe open("/dev/null", O_RDONLY) == descriptor else { exit(2) }
        }
    }

    private static func run(_ command: String?, _ arguments: [String]) throws(UsageError) {
        let wantsHelp = arguments.contains("--help")
        switch command {
        case "serve":
            wantsHelp ? say(ServeCommand.manual) : try ServeCommand.run(arguments)
        case "strategies":
            wantsHelp ? say(StrategiesCommand.manual) : try StrategiesCommand.run(arguments)
        case "compare":
            wantsHelp ? say(CompareCommand.manual) : try CompareCommand.run(arguments)
        case "health":
            wantsHelp ? say(HealthCommand.manual) : try HealthCommand.run(arguments)
        case "--version":
            say("latchkey \(version)\n")
        case "--help", "help":
            say(manual)
        case nil:
            throw UsageError("no command is given.")
        case let command?:
            throw UsageError("'\(command)' is no command.")
        }
    }

    private static let manual = """
        latchkey: synchronized state over HTTP, and what each way to synchronize it costs

        Usage: latchkey COMMAND [--flag value | --flag=value ...]

        Commands:
          serve        serve JSON properties, guarded by one strategy
          compare      measure what each strategy costs, and say which one to use
          strategies   print the strategies and what each one promises
          health       ask a running service whether it is alive; status 0 if it is
          --version    print the version
          --help       print this; 'latchkey COMMAND --help' is a command's manual

        Every flag is also an environment variable: --drain-seconds is LATCHKEY_DRAIN_SECONDS.
        A flag on the command line wins.

        """
}

/// Writes text to a file descriptor, whole or not at all if the reader has gone.
///
/// If standard output cannot be written for another reason, such as a full disk, the program ends
/// with a sentence and status 2: what was asked for is not there.
func say(_ text: String, to descriptor: Int32 = 1) {
    let error = trySay(text, to: descriptor)
    guard descriptor == 1, error != 0, error != EPIPE else { return }
    let reason = unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
    say("latchkey: standard output cannot be written: \(reason).\n", to: 2)
    exit(2)
}

/// The same for what is not what the program is there for; returns the error's number, or 0.
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
