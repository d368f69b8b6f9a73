internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey delete`: removes a property, or all under a prefix.
struct DeleteCommand: ClientCommand {
    let name = "delete"
    let operandCountMax = 1
    let ownFlags = [
        Flag(
            "prefix",
            .text(placeholder: "PREFIX"),
            default: "",
            hasEnvironment: false,
            "Removes all properties whose names begin so, and prints how many there were. They "
                + "are removed a thousand at a time."
        ),
        ClientFlags.ifRevision,
        ClientFlags.key,
        ClientFlags.json,
    ]

    let introduction = """
        removes a property, or all under a prefix

        Usage: latchkey delete NAME [--if-revision N]
               latchkey delete --prefix PREFIX

        Prints nothing for a name. For a prefix, it prints the number of properties.
        With --json, both print {"count":…}
        """

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        guard let prefix = values.given("prefix") else {
            var request = ClientRequest(
                .delete,
                property: try operand(values, 0, "a name, or --prefix")
            )
            try request.add(values, ownFlags)
            _ = try client.send(request)
            if values.isOn("json") { try ClientOutput.write("{\"count\":1}\n") }
            return
        }
        guard values.operands.isEmpty, !values.isGiven("if-revision") else {
            throw ClientFailure(.usage, "--prefix goes without a name and a revision.")
        }
        var count: Int64 = 0
        var hasMore = true
        while hasMore {
            var request = ClientRequest(.delete, "/v1/properties")
            request.add("prefix", prefix)
            request.add("limit", "1000")
            request.makeRepeatable()
            let answer = try send(request, client, after: count).json
            guard let removed = answer?["count"]?.integer, let more = answer?["more"]?.boolean
            else { throw ClientOutput.unexpected }
            count += removed
            hasMore = more
        }
        try ClientOutput.write(values.isOn("json") ? "{\"count\":\(count)}\n" : "\(count)\n")
    }

    /// Sends one of several requests: if it fails, those before it were made.
    private func send(
        _ request: ClientRequest,
        _ client: Client,
        after count: Int64
    ) throws(ClientFailure) -> ClientAnswer {
        do throws(ClientFailure) {
            return try client.send(request)
        } catch {
            guard count > 0 else { throw error }
            throw ClientFailure(
                .unknown,
                "\(count) properties were removed, and then: \(error.message)"
            )
        }
    }
}
