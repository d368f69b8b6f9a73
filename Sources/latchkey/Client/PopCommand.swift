internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey pop`: takes the first property under a prefix.
enum PopCommand: ClientCommand {
    static let name = "pop"
    static let operandCountMax = 1
    static let ownFlags = [
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

    static let introduction = """
        takes the first property under a prefix, as from a queue

        Usage: latchkey pop PREFIX [--wait SECONDS] [--claim PREFIX --ttl SECONDS]

        Removes the first property, by name, and prints its name and value; with --json:
        {"name":…,"revision":…,"created":…,"value":…}. If there is none within the time,
        up to 60 seconds, the status is 3.

        With --claim the property comes back if it is not deleted before the claim's
        time is over: a job whose worker dies is not lost.

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let prefix = try operand(values, 0, "a prefix")
        guard values.isGiven("claim") == values.isGiven("ttl") else {
            throw ClientFailure(.usage, "--claim and --ttl need each other.")
        }
        var request = ClientRequest(.post, "/v1/pop")
        request.add("prefix", prefix)
        request.wait(values, client)
        request.add("claim", values.given("claim"))
        try request.add(values, ownFlags)
        let answer = try client.send(request).json
        guard let result = answer?["result"], let name = result["name"]?.string else {
            throw ClientOutput.unexpected
        }
        try values.isOn("json")
            ? ClientOutput.write(object: result)
            : ClientOutput.write(PropertyText.table([(name, result["value"])], width: nil))
    }
}
