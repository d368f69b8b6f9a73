internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyMachine
internal import LatchkeySettings

/// `latchkey list`: prints names and values.
struct ListCommand: ClientCommand {
    let name = "list"
    let operandCountMax = 1
    let ownFlags = [
        Flag.toggle("names", "Prints only the names, one in a line."),
        ClientFlags.json,
    ]

    let introduction = """
        prints the properties whose names begin with a prefix

        Usage: latchkey list [PREFIX] [--names] [--json]

        Prints names and values in two columns, sorted by name; a terminal gets as much
        of a line as fits. With --json, each line is an object:
        {"name":…,"revision":…,"created":…,"value":…}
        """

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let isShort = values.isOn("names")
        let columns = Terminal.columns(1)
        var cursor: String?
        repeat {
            var request = ClientRequest(.get, "/v1/properties")
            request.add("prefix", values.operands.first)
            request.add("limit", "1000")
            request.add("values", isShort ? "false" : nil)
            request.add("after", cursor)
            let page = try client.send(request).json
            guard let properties = page?["properties"]?.elements else {
                throw ClientOutput.unexpected
            }
            if values.isOn("json") {
                try ClientOutput.write(properties.map { $0.oneLine + "\n" }.joined())
            } else {
                let rows = properties.map { ($0["name"]?.string ?? "", $0["value"]) }
                let width = columns > 0 ? columns : nil
                try ClientOutput.write(
                    isShort
                        ? rows.map { $0.0 + "\n" }.joined()
                        : PropertyText.table(rows, width: width)
                )
            }
            cursor = page?["next"]?.string
        } while cursor != nil
    }
}
