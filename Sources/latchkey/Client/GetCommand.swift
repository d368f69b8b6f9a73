internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey get`: prints a value.
enum GetCommand: ClientCommand {
    static let name = "get"
    static let operandCountMax = 1
    static let ownFlags = [
        ClientFlags.json,
        Flag.toggle(
            "string",
            "Prints a value that is a string as its text, without quotes and escapes."
        ),
    ]

    static let introduction = """
        prints the value of a property

        Usage: latchkey get NAME [--json | --string]

        With --json: {"name":…,"revision":…,"created":…,"ttl":…,"value":…}

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let name = try operand(values, 0, "a name")
        let answer = try client.send(ClientRequest(.get, property: name))
        guard let value = answer.json else { throw ClientOutput.unexpected }
        if values.isOn("json") {
            try ClientOutput.write(object: PropertyText.object(name, answer))
        } else if values.isOn("string"), let text = value.string {
            try ClientOutput.write(text + "\n")
        } else {
            try ClientOutput.write(line: value)
        }
    }
}
