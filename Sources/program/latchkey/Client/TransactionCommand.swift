internal import LatchkeyClient
internal import LatchkeyCommandLine

/// `latchkey txn`: a transaction.
enum TransactionCommand: ClientCommand {
    static let name = "txn"
    static let operandCountMax = 1
    static let ownFlags = [ClientFlags.wait, ClientFlags.key, ClientFlags.jsonAlways]

    static let introduction = """
        checks conditions and makes steps, all or nothing

        Usage: latchkey txn [TRANSACTION] [--wait SECONDS]

        TRANSACTION is JSON; - or none reads it from standard input. Example:
        latchkey txn '{"if": [{"name": "stock", "exists": true}],
                       "then": [{"increment": "stock", "by": -1}]}'

        Prints the answer: {"succeeded":…,"revision":…,"results":[…]}. With --wait, up
        to 60 seconds, a transaction whose conditions do not hold is tried again when
        one of its properties changes.

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        var request = ClientRequest(.post, "/v1/transactions")
        request.wait(values)
        try request.add(values, ownFlags)
        let body = try ClientInput.json(values.operands.first ?? "-")
        request.send(.bytes(body), type: "application/json")
        guard let answer = try client.send(request).json,
            let hasSucceeded = answer["succeeded"]?.boolean
        else { throw ClientOutput.unexpected }
        try ClientOutput.write(line: answer)
        guard hasSucceeded else {
            throw ClientFailure(.unmet, "a condition does not hold: 'else' was done.")
        }
    }
}

extension ClientRequest {
    /// Has the service wait, and the client as long.
    mutating func wait(_ values: FlagValues) {
        if values.isGiven("wait") { wait = values.duration("wait") }
    }
}
