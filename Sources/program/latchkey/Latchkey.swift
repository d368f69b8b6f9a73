internal import CLatchkeyLocales
internal import CLatchkeyStart
internal import Foundation
internal import LatchkeyCommandLine
internal import LatchkeyReport
internal import LatchkeyService
internal import LatchkeySettings

/// The program: runs the command, and reports an error in the command line as one sentence and
/// status 2.
@main
enum Latchkey {
    static let version = latchkeyFullVersion
    static let program = ProgramVersion(version)

    static func main() {
        openStandardStreams()
        // A write to a closed connection is an error of that write and does not end the process.
        signal(SIGPIPE, SIG_IGN)
        let given = givenArguments
        let name = given.first
        let command = name.flatMap(named)
        let arguments = Array(given.dropFirst())
        do throws(UsageError) {
            switch (command, name) {
            case (let command?, _):
                // The words after -- are those of another program.
                let own = arguments.prefix { $0 != "--" }
                guard let help = own.firstIndex(where: { ["--help", "-h"].contains($0) }) else {
                    return try command.run(arguments)
                }
                sayManual(of: command, own[help...].dropFirst())
            case (nil, "--version"):
                say(program.text)
            case (nil, "--help"), (nil, "-h"), (nil, "help"):
                try sayManual(arguments[...])
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

    /// The arguments after the name of the program.
    ///
    /// `CommandLine.arguments` has none where there is no `/proc`.
    private static var givenArguments: [String] {
        let count = latchkey_start_argument_count()
        return (1..<max(1, count)).compactMap { index in
            unsafe latchkey_start_argument(index).map { unsafe String(cString: $0) }
        }
    }

    /// `latchkey help`, `latchkey help COMMAND` and `latchkey help COMMAND all`.
    private static func sayManual(_ words: ArraySlice<String>) throws(UsageError) {
        guard let name = words.first, !name.hasPrefix("-") else {
            return LatchkeyCommandLine.sayManual(manual)
        }
        sayManual(of: try command(name), words.dropFirst())
    }

    /// `latchkey COMMAND --help` and `latchkey COMMAND --help all`.
    ///
    /// Other words beside `--help` do not matter.
    private static func sayManual(of command: Command, _ words: ArraySlice<String>) {
        LatchkeyCommandLine.sayManual(words.first == "all" ? command.fullManual : command.manual)
    }

    static func command(_ name: String) throws(UsageError) -> Command {
        guard let command = named(name) else { throw unknownCommand(name) }
        return command
    }

    /// Names of commands as other programs have them.
    private static let aliases = ["del": "delete", "ls": "list", "set": "put"]

    private static func named(_ name: String) -> Command? {
        commands.first { $0.name == aliases[name, default: name] }
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
            commands.flatMap(\.flags).filter(\.hasEnvironment),
            others: [ServiceConfiguration.limitsVariable]
                + (ServeCommand.removed + CompareFlags.removed).map(\.environmentName)
        )
    }

    /// All commands, in the order of the help.
    ///
    /// The help and the completions of shells are made of this list.
    static var commands: [Command] { ownCommands + clients }

    private static var ownCommands: [Command] {
        var all = lockCommands
        all += dataCommands
        all += otherCommands
        return all
    }

    private static var clients: [Command] {
        clientCommands.map { command in
            Command(
                name: command.name,
                manual: command.manual,
                flags: command.flags,
                operands: command.operands
            ) { arguments throws(UsageError) in
                try command.run(arguments)
            }
        }
    }

    /// Those that are clients of a service.
    static var clientCommands: [any ClientCommand] {
        [
            GetCommand(), OneRequest.put, DeleteCommand(), OneRequest.increment, OneRequest.merge,
            ListCommand(), WatchCommand(), OneRequest.transaction, PopCommand(), OneRequest.touch,
            OneRequest.count, ExportCommand(), ImportCommand(), DiffCommand(), LockCommand(),
            ElectCommand(), TopCommand(), OneRequest.switch, OneRequest.promote,
        ]
    }

    private static var lockCommands: [Command] {
        [
            Command(
                name: "serve",
                manual: ServeCommand.manual,
                fullManual: { ServeCommand.fullManual },
                flags: ServeCommand.flags,
                run: ServeCommand.run
            ),
            Command(
                name: "check-config",
                manual: CheckConfigCommand.manual,
                flags: CheckConfigCommand.flags,
                run: CheckConfigCommand.run
            ),
            Command(
                name: "compare",
                manual: CompareCommand.manual,
                flags: CompareFlags.all
            ) { arguments throws(UsageError) in
                try CompareCommand.run(arguments)
            },
            Command(
                name: "strategies",
                manual: StrategiesCommand.manual,
                flags: StrategiesCommand.flags,
                run: StrategiesCommand.run
            ),
            Command(
                name: "advise",
                manual: AdviseCommand.manual,
                flags: AdviseCommand.flags,
                operands: [.text(placeholder: "URL")],
                run: AdviseCommand.run
            ),
        ]
    }

    private static var dataCommands: [Command] {
        let folder = Flag.Value.text(placeholder: "DIR")
        let file = Flag.Value.text(placeholder: "FILE")
        return [
            Command(
                name: "backup",
                manual: BackupCommand.manual,
                flags: [],
                operands: [folder, file],
                run: BackupCommand.run
            ),
            Command(
                name: "restore",
                manual: RestoreCommand.manual,
                flags: [],
                operands: [file, folder],
                run: RestoreCommand.run
            ),
            Command(
                name: "check",
                manual: CheckCommand.manual,
                flags: [],
                operands: [folder],
                run: CheckCommand.run
            ),
            Command(
                name: "compact",
                manual: CompactCommand.manual,
                flags: [],
                operands: [folder],
                run: CompactCommand.run
            ),
            Command(
                name: "recover",
                manual: RecoverCommand.manual,
                flags: RecoverCommand.flags,
                operands: [folder],
                run: RecoverCommand.run
            ),
        ]
    }

    private static var otherCommands: [Command] {
        [
            Command(
                name: "token",
                manual: TokenCommand.manual,
                flags: TokenCommand.flags,
                operands: [.choice(["create", "revoke"]), .text(placeholder: "NAME")],
                run: TokenCommand.run
            ),
            Command(
                name: "health",
                manual: HealthCommand.manual,
                flags: HealthCommand.flags,
                run: HealthCommand.run
            ),
            Command(
                name: "completion",
                manual: CompletionCommand.manual,
                flags: CompletionCommand.flags,
                operands: CompletionCommand.operands,
                run: CompletionCommand.run
            ),
        ]
    }

    static var manual: String {
        """
        latchkey: synchronized state over HTTP, and the cost of each strategy

        Usage: latchkey COMMAND [--flag value | --flag=value ...]
               latchkey COMMAND --help [all]

        Commands:
        \(ownCommands.table)

        Clients of a running service, at --url or LATCHKEY_URL:
        \(clients.table)

        del, ls and set are delete, list and put.

          --version      print the version, the build and the libraries
          --help, -h     print this help; 'latchkey COMMAND --help' prints a command's

        Each flag is also an environment variable: --drain-seconds is
        LATCHKEY_DRAIN_SECONDS. The flag wins if both are given. Of the clients' flags,
        those that say where the service is are; they can also be lines, such as
        url = https://latchkey.example, of the file ~/.config/latchkey.

        Times and sizes take units: 50ns, 10us, 200ms, 2s, 5m, 1h; 512KiB, 2MB, 1GiB.
        A number without a unit is in the unit that the flag's help names.

        """
    }
}
