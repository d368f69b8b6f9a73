internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey put`: creates or replaces a property.
enum PutCommand: ClientCommand {
    static let name = "put"
    static let operandCountMax = 2
    static let ownFlags = [
        Flag.toggle("string", "Sends the value as a JSON string with this text."),
        ClientFlags.ttl,
        ClientFlags.ttlIfNew,
        ClientFlags.ifRevision,
        Flag.toggle(
            "if-absent",
            "Only if there is no such property; otherwise status 4."
        ),
        ClientFlags.key,
        ClientFlags.json,
    ]

    static let introduction = """
        creates or replaces a property

        Usage: latchkey put NAME VALUE [--flag value ...]

        VALUE is JSON, such as 5, true, '"text"' or '{"max": 50}'; - reads it from
        standard input. Behind -- it can begin with --. Prints nothing; with --json:
        {"name":…,"revision":…}

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let name = try operand(values, 0, "a name and a value")
        let text = try operand(values, 1, "a value; - reads it from standard input")
        guard !values.isOn("if-absent") || !values.isGiven("if-revision") else {
            throw ClientFailure(.usage, "give --if-revision or --if-absent, not both.")
        }
        var request = ClientRequest(.put, property: name)
        try request.add(values, ownFlags)
        if values.isOn("if-absent") { request.add(field: "If-None-Match: *") }
        let value = try ClientInput.json(text, isString: values.isOn("string"))
        request.send(.bytes(value), type: "application/json")
        let answer = try client.send(request)
        if values.isOn("json") { try ClientOutput.write(written: name, answer) }
    }
}

extension ClientOutput {
    /// The name and the revision of a property that was written.
    static func write(written name: String, _ answer: ClientAnswer) throws(ClientFailure) {
        guard let revision = answer.revision else { throw unexpected }
        try write(
            object: JSONValue(object: [
                ("name", JSONValue(string: name)), ("revision", JSONValue(revision)),
            ])
        )
    }
}
