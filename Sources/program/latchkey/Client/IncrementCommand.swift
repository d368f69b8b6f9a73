internal import LatchkeyClient
internal import LatchkeyCommandLine

/// `latchkey increment`: adds to a number.
enum IncrementCommand: ClientCommand {
    static let name = "increment"
    static let operandCountMax = 2
    static let ownFlags = [
        ClientFlags.ttl, ClientFlags.ttlIfNew, ClientFlags.ifRevision, ClientFlags.key,
        ClientFlags.json,
    ]

    static let introduction = """
        adds to a number, and prints the sum

        Usage: latchkey increment NAME [N] [--flag value ...]

        Without N it adds 1. N can be negative. A property that does not exist starts
        at 0. With --json: {"name":…,"revision":…,"created":…,"ttl":…,"value":…}

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let name = try operand(values, 0, "a name")
        var request = ClientRequest(.post, property: name, "increment")
        try request.add(values, ownFlags)
        if values.operands.count > 1 {
            guard let number = Int64(values.operands[1]) else {
                throw ClientFailure(
                    .usage,
                    "'latchkey increment' adds a whole number of 64 bits, not "
                        + "'\(values.operands[1])'."
                )
            }
            request.send(.bytes(Array("{\"by\":\(number)}".utf8)), type: "application/json")
        }
        try ClientOutput.write(new: name, try client.send(request), values)
    }
}

extension ClientOutput {
    /// The new value of a property, or the property as an object.
    static func write(
        new name: String,
        _ answer: ClientAnswer,
        _ values: FlagValues
    ) throws(ClientFailure) {
        guard let value = answer.json else { throw unexpected }
        try values.isOn("json")
            ? write(object: PropertyText.object(name, answer)) : write(line: value)
    }
}
