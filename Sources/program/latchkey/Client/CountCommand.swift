internal import LatchkeyClient
internal import LatchkeyCommandLine

/// `latchkey count`: how many properties there are under a prefix.
enum CountCommand: ClientCommand {
    static let name = "count"
    static let operandCountMax = 1
    static let ownFlags = [ClientFlags.json]

    static let introduction = """
        prints how many properties there are under a prefix

        Usage: latchkey count [PREFIX]

        Without a prefix it counts all. With --json: {"count":…,"revision":…}

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        var request = ClientRequest(.get, "/v1/count")
        request.add("prefix", values.operands.first)
        guard let answer = try client.send(request).json, let count = answer["count"] else {
            throw ClientOutput.unexpected
        }
        try ClientOutput.write(line: values.isOn("json") ? answer : count)
    }
}
