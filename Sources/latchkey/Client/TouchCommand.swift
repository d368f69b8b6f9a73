internal import LatchkeyClient
internal import LatchkeyCommandLine

/// `latchkey touch`: has a time to live begin anew.
enum TouchCommand: ClientCommand {
    static let name = "touch"
    static let operandCountMax = 1
    static let ownFlags = [ClientFlags.ttl, ClientFlags.ifRevision, ClientFlags.key]

    static let introduction = """
        has the time to live of a property begin anew

        Usage: latchkey touch NAME --ttl SECONDS [--if-revision N]

        The value and the revision stay as they are, and watches get no event.

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        var request = ClientRequest(.post, property: try operand(values, 0, "a name"), "touch")
        guard values.isGiven("ttl") else {
            throw ClientFailure(.usage, "'latchkey touch' needs --ttl.")
        }
        try request.add(values, ownFlags)
        _ = try client.send(request)
    }
}
