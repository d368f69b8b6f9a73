internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey get`: prints a value.
struct GetCommand: ClientCommand {
    let name = "get"
    let operandCountMax = 128
    let ownFlags = [
        ClientFlags.json,
        Flag.toggle(
            "string",
            "Prints a value that is a string as its text, without quotes and escapes."
        ),
    ]

    let introduction = """
        prints the value of a property, or those of several

        Usage: latchkey get NAME [--json | --string]
               latchkey get NAME NAME ... [--json]

        With --json: {"name":…,"revision":…,"created":…,"ttl":…,"value":…}

        Of several names it prints names and values in two columns, in the order of the
        names; with --json, an object in each line, without ttl. They are of one
        revision, unless the names together have more than 3,000 bytes. If one is
        missing, the others are printed, and the status is 3.
        """

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let name = try operand(values, 0, "a name")
        guard values.operands.count == 1 else { return try printAll(values, client) }
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

    /// The bytes of names of one request, after which at most one more name comes.
    private let byteCountMax = 3000

    private func printAll(
        _ values: FlagValues,
        _ client: Client
    ) throws(ClientFailure) {
        guard !values.isOn("string") else {
            throw ClientFailure(.usage, "--string goes with one name.")
        }
        var found: [String: JSONValue] = [:]
        var rest = values.operands[...]
        while !rest.isEmpty {
            var request = ClientRequest(.get, "/v1/properties")
            var byteCount = 0
            repeat {
                guard let name = rest.popFirst() else { break }
                request.add("name", name)
                byteCount += PercentEncoding.encoded(name).utf8.count
            } while byteCount < byteCountMax
            guard let properties = try client.send(request).json?["properties"]?.elements else {
                throw ClientOutput.unexpected
            }
            for property in properties { found[property["name"]?.string ?? ""] = property }
        }
        let all = values.operands.compactMap { found[$0] }
        let rows = all.map { ($0["name"]?.string ?? "", $0["value"]) }
        try ClientOutput.write(
            values.isOn("json")
                ? all.map { $0.oneLine + "\n" }.joined() : PropertyText.table(rows, width: nil)
        )
        if let missing = values.operands.first(where: { found[$0] == nil }) {
            throw ClientFailure(.missing, "there is no property '\(missing)'.")
        }
    }
}
