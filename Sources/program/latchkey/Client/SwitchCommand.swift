internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyComparison
internal import LatchkeySettings
internal import LatchkeyStrategies
internal import LatchkeyVerdict

/// `latchkey switch`: has a service serve under another strategy.
enum SwitchCommand: ClientCommand {
    static let name = "switch"
    static let operandCountMax = 1
    static let ownFlags = [ClientFlags.json]

    private static let strategies = Flag.Value.choice(StrategyKind.allCases.map(\.rawValue))

    static var operands: [Flag.Value] { [strategies] }

    static let introduction = """
        has a service serve under another strategy, from now on

        Usage: latchkey switch NAME

        'latchkey strategies' lists the names. The service serves meanwhile, and loses
        no change. It prints the strategies before and after, how long the switch took,
        and the longest access meanwhile. A service that is started again has the
        strategy of its --strategy. actor needs a service with one stripe. Needs the
        right admin. With --json: {"from":…,"to":…,"seconds":…,"longestHoldSeconds":…,
        "longestAccessSeconds":…}

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let kind = try operand(values, 0, "the name of a strategy")
        do {
            try strategies.check(kind)
        } catch {
            throw ClientFailure(.usage, "'latchkey switch' \(error.message)")
        }
        var request = ClientRequest(.put, "/v1/strategy")
        request.send(.bytes(Array("{\"strategy\":\"\(kind)\"}".utf8)), type: "application/json")
        let answer = try client.send(request).json
        guard !values.isOn("json") else { return try ClientOutput.write(object: answer) }
        guard let answer, let from = answer["from"]?.string, let to = answer["to"]?.string else {
            throw ClientOutput.unexpected
        }
        func time(_ name: String) -> String {
            FigureText.duration(nanoseconds: 1e9 * (answer[name].flatMap { Double($0.text) } ?? 0))
        }
        try ClientOutput.write(
            from == to
                ? "\(to) serves already\n"
                : "from \(from) to \(to) in \(time("seconds")); longest access meanwhile: "
                    + "\(time("longestAccessSeconds"))\n"
        )
    }
}
