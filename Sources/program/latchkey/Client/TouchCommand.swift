internal import LatchkeyClient
internal import LatchkeyCommandLine

/// `latchkey touch`: has a time to live begin anew.
enum TouchCommand: ClientCommand {
    static let name = "touch"
    static let operandCountMax = 1
    static let ownFlags = [
        ClientFlags.ttl, ClientFlags.ifRevision, ClientFlags.key, ClientFlags.json,
    ]

    static let introduction = """
        has the time to live of a property begin anew

        Usage: latchkey touch NAME --ttl SECONDS [--if-revision N]

        The value and the revision stay as they are, and watches get no event. Prints
        nothing; with --json: {"name":…,"revision":…}

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let name = try operand(values, 0, "a name")
        var request = ClientRequest(.post, property: name, "touch")
        guard values.isGiven("ttl") else {
            throw ClientFailure(.usage, "'latchkey touch' needs --ttl.")
        }
        try request.add(values, ownFlags)
        let answer = try client.send(request)
        if values.isOn("json") { try ClientOutput.write(written: name, answer) }
    }
}
