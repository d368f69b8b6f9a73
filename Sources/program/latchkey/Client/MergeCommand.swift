internal import LatchkeyClient
internal import LatchkeyCommandLine

/// `latchkey merge`: changes members of an object.
enum MergeCommand: ClientCommand {
    static let name = "merge"
    static let operandCountMax = 2
    static let ownFlags = [
        ClientFlags.ttl, ClientFlags.ttlIfNew, ClientFlags.ifRevision, ClientFlags.key,
        ClientFlags.json,
    ]

    static let introduction = """
        changes members of an object, and prints the new value

        Usage: latchkey merge NAME PATCH [--flag value ...]

        PATCH is a JSON merge patch (RFC 7396), such as '{"max": 60, "old": null}'; -
        reads it from standard input. With --json:
        {"name":…,"revision":…,"created":…,"ttl":…,"value":…}

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let name = try operand(values, 0, "a name and a patch")
        let patch = try operand(values, 1, "a patch; - reads it from standard input")
        var request = ClientRequest(.patch, property: name)
        try request.add(values, ownFlags)
        request.send(.bytes(try ClientInput.json(patch)), type: "application/merge-patch+json")
        try ClientOutput.write(new: name, try client.send(request), values)
    }
}
