internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyMachine
internal import LatchkeySettings

/// `latchkey pop`: takes the first property under a prefix.
struct PopCommand: ClientCommand {
    let name = "pop"
    let operandCountMax = 1
    let ownFlags = [
        ClientFlags.wait,
        Flag(
            "claim",
            .text(placeholder: "PREFIX"),
            default: "",
            hasEnvironment: false,
            "Leaves the property where it is, and creates a claim: a property with this prefix "
                + "and the rest of its name. A property that is claimed is passed over, but not "
                + "by a pop without this flag."
        ),
        ClientFlags.ttl,
        ClientFlags.key,
        ClientFlags.json,
    ]

    let introduction = """
        takes the first property under a prefix, as from a queue

        Usage: latchkey pop PREFIX [--wait SECONDS] [--claim PREFIX --ttl SECONDS]

        Removes the first property, by name, and prints its name and value; with --json:
        {"name":…,"revision":…,"created":…,"value":…}. If there is none within the time,
        up to 60 seconds, the status is 3.

        With --claim the property comes back if it is not deleted before the claim's
        time is over: a job whose worker dies is not lost.
        """

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let prefix = try operand(values, 0, "a prefix")
        guard values.isGiven("claim") == values.isGiven("ttl") else {
            throw ClientFailure(.usage, "--claim and --ttl need each other.")
        }
        var request = ClientRequest(.post, "/v1/pop")
        request.add("prefix", prefix)
        request.add("claim", values.given("claim"))
        try request.add(values, ownFlags)
        let result = try job(request, client)
        guard let name = result["name"]?.string else { throw ClientOutput.unexpected }
        try values.isOn("json")
            ? ClientOutput.write(object: result)
            : ClientOutput.write(PropertyText.table([(name, result["value"])], width: nil))
    }

    /// Waits for a job; a signal ends that, and no job is lost.
    private func job(
        _ request: ClientRequest,
        _ client: Client
    ) throws(ClientFailure) -> JSONValue {
        guard request.wait != nil else { return try result(client.send(request)) }
        let end = DeferredEnd()
        do throws(ClientFailure) {
            let found = try result(client.send(request) { end.isAsked })
            guard end.isAsked else { return found }
        } catch {
            guard end.isAsked else { throw error }
            // Otherwise nothing was taken.
            guard error.status == .unknown else {
                end.end()
                throw error
            }
        }
        GivenBack(client, request) { end.isHurried }.run()
        end.end()
        throw ClientFailure(.failed, "it was ended by a signal.")
    }

    private func result(_ answer: ClientAnswer) throws(ClientFailure) -> JSONValue {
        guard let result = answer.json?["result"] else { throw ClientOutput.unexpected }
        return result
    }
}

/// The end of a pop that was ended by a signal: a job that it has got, or may have got, is given
/// back.
private struct GivenBack {
    private let client: Client
    private let request: ClientRequest
    private let isHurried: () -> Bool

    init(_ client: Client, _ request: ClientRequest, isHurried: @escaping () -> Bool) {
        // The time of one attempt.
        self.client = Client(client.transport, patience: client.transport.timeLimit)
        self.request = request
        self.isHurried = isHurried
    }

    func run() {
        // With its key: once it is answered, no earlier request on its way gets a job.
        var request = request
        request.wait = nil
        let answer = try? client.send(request, isCancelled: isHurried).json
        guard let result = answer?["result"], let name = result["name"]?.string else { return }
        var back: ClientRequest
        if let claim = parameter("claim"), let revision = answer?["revision"]?.text {
            let rest = name.dropFirst(parameter("prefix")?.count ?? 0)
            back = ClientRequest(.delete, property: claim + rest)
            back.add(field: "If-Match: \"\(revision)\"")
        } else {
            back = ClientRequest(.put, property: name)
            back.add(field: "If-None-Match: *")
            back.send(.bytes(result["value"]?.bytes ?? []), type: "application/json")
        }
        back.makeRepeatable()
        _ = try? client.send(back, isCancelled: isHurried)
    }

    private func parameter(_ name: String) -> String? {
        request.query.first { $0.name == name }?.value
    }
}
