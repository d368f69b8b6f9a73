internal import Foundation
internal import LatchkeyCommandLine
internal import LatchkeyReport
internal import LatchkeySettings

/// The program: runs the command, and reports an error in the command line as one sentence and
/// status 2.
@main
enum Latchkey {
    static let version = latchkeyVersion

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
                try sayManualOf(arguments.first)
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
    private static func sayManualOf(_ name: String?) throws(UsageError) {
        guard let name, !name.hasPrefix("-") else { return sayManual(manual) }
        guard let command = commands.first(where: { $0.name == name }) else {
            throw unknownCommand(name)
        }
        sayManual(command.manual)
    }

    private static func unknownCommand(_ name: String) -> UsageError {
        let names = commands.map(\.name) + ["--version", "--help"]
        return UsageError(
            "unknown command '\(name)'.\(Suggestion.sentence(for: name, among: names))"
        )
    }

    /// A sentence for each variable of the environment that belongs to no flag of any command.
    static var unknownVariables: [String] {
        EnvironmentVariables.unknown(
            in: ProcessInfo.processInfo.environment,
            ServeCommand.flags + CompareFlags.all + AdviseCommand.flags + HealthCommand.flags
                + StrategiesCommand.flags + RecoverCommand.flags + TokenCommand.flags
        )
    }

    private static var commands: [Command] {
        [
            Command(name: "serve", manual: ServeCommand.manual, run: ServeCommand.run),
            Command(name: "compare", manual: CompareCommand.manual) {
                arguments throws(UsageError) in
                try CompareCommand.run(arguments)
            },
            Command(
                name: "strategies",
                manual: StrategiesCommand.manual,
                run: StrategiesCommand.run
            ),
            Command(name: "advise", manual: AdviseCommand.manual, run: AdviseCommand.run),
            Command(name: "check", manual: CheckCommand.manual, run: CheckCommand.run),
            Command(name: "recover", manual: RecoverCommand.manual, run: RecoverCommand.run),
            Command(name: "backup", manual: BackupCommand.manual, run: BackupCommand.run),
            Command(name: "restore", manual: RestoreCommand.manual, run: RestoreCommand.run),
            Command(name: "token", manual: TokenCommand.manual, run: TokenCommand.run),
            Command(name: "health", manual: HealthCommand.manual, run: HealthCommand.run),
        ]
    }

    private struct Command {
        let name: String
        let manual: String
        let run: ([String]) throws(UsageError) -> Void
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
          backup       copy the data of a service, which may be running
          restore      make a data folder from a backup
          check        look for damage in a data folder
          recover      make a damaged data folder usable
          token        make a token, which says what its holder may do
          health       check whether a running service is alive
          --version    print the version
          --help, -h   print this help; 'latchkey COMMAND --help' prints a command's

        Each flag is also an environment variable: --drain-seconds is
        LATCHKEY_DRAIN_SECONDS. The flag wins if both are given.

        Times and sizes take units: 50ns, 10us, 200ms, 2s, 5m, 1h; 512KiB, 2MB, 1GiB.
        A number without a unit is in the unit that the flag's help names.

        """
}
