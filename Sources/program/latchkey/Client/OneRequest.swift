internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// A client command that is one request: the request, and the printed part of the answer.
///
/// ``OneRequest/put`` and the others are the table of these commands.
struct OneRequest: ClientCommand, Sendable {
    enum Target: Sendable {
        case path(ClientRequest.Method, String)
        /// The property that the first operand names, or an action on it.
        case property(ClientRequest.Method, String = "")
    }

    let name: String
    let sends: Target
    /// The meaning of each operand that must be there.
    var needed: [String] = []
    let operandCountMax: Int
    var operands: [Flag.Value] = []
    let ownFlags: [Flag]
    let introduction: String
    /// Adds the parts that come neither from the target nor from the common flags.
    var fill: @Sendable (inout ClientRequest, FlagValues) throws(ClientFailure) -> Void = { _, _ in
    }
    let show: @Sendable (ClientAnswer, FlagValues) throws(ClientFailure) -> Void

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        for (index, meaning) in needed.enumerated() { _ = try operand(values, index, meaning) }
        var request =
            switch sends {
            case .path(let method, let path): ClientRequest(method, path)
            case .property(let method, let action):
                ClientRequest(method, property: values.operands[0], action)
            }
        if ownFlags.contains(where: { $0.name == ClientFlags.key.name }) {
            try request.add(values, ownFlags)
        }
        try fill(&request, values)
        try show(try client.send(request), values)
    }
}

extension ClientRequest {
    mutating func send(json: [UInt8]) { send(.bytes(json), type: "application/json") }
}

extension ClientOutput {
    /// The new value of a property, or the property as an object.
    static func writeNew(
        _ answer: ClientAnswer,
        _ values: FlagValues
    ) throws(ClientFailure) {
        guard let value = answer.json else { throw unexpected }
        try values.isOn("json")
            ? write(object: PropertyText.object(values.operands[0], answer)) : write(line: value)
    }

    /// Nothing, or the name and the revision of the property that was written.
    static func writeWritten(
        _ answer: ClientAnswer,
        _ values: FlagValues
    ) throws(ClientFailure) {
        guard values.isOn("json") else { return }
        guard let revision = answer.revision else { throw unexpected }
        let name = JSONValue(string: values.operands[0])
        try write(object: JSONValue(object: [("name", name), ("revision", JSONValue(revision))]))
    }
}
