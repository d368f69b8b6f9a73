internal import LatchkeyClient
internal import LatchkeyCommandLine

/// `latchkey promote`: makes a replica a leader.
enum PromoteCommand: ClientCommand {
    static let name = "promote"
    static let operandCountMax = 0
    static let ownFlags = [ClientFlags.jsonAlways]

    static let introduction = """
        makes a replica a leader, which takes changes

        Usage: latchkey promote [--url URL]

        The replica stops following, and its revisions jump by at least 4294967296: how
        far depends on the time. What the old leader acknowledged last may be missing:
        nothing promises it. End the old leader before, or two services take changes.
        Needs the right admin.

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let answer = try client.send(ClientRequest(.post, "/v1/promote"))
        try ClientOutput.write(answer.body + [0x0A])
    }
}
