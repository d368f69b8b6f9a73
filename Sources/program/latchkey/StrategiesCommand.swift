internal import LatchkeyCommandLine
internal import LatchkeyReport
internal import LatchkeyService
internal import LatchkeySettings
internal import LatchkeyStrategies

/// `latchkey strategies`: the table that `GET /v1/strategies` answers.
enum StrategiesCommand {
    private enum Format: String, CaseIterable {
        case text
        case json
    }

    static let flags = [
        Flag(
            "format",
            .choice(Format.allCases.map(\.rawValue)),
            default: Format.text.rawValue,
            "The format of the table."
        )
    ]

    static let manual = """
        latchkey strategies: prints the strategies and what each one promises

        Usage: latchkey strategies [--format text|json]

        Prints the name of each strategy, what it is, and its traits, such as
        concurrent readers or fairness. 'latchkey compare' measures their cost.


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        let values = try FlagValues(flags, command: "latchkey strategies", arguments: arguments)
        let format: Format = values.choice("format")
        switch format {
        case .text:
            say(TextLines.broken(StrategyTable.text(), width: TerminalStyle(descriptor: 1).width))
        case .json:
            say(String(decoding: StrategyTable.json(serving: nil), as: UTF8.self) + "\n")
        }
    }
}
