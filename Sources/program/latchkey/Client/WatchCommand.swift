internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey watch`: prints changes as they come.
enum WatchCommand: ClientCommand {
    static let name = "watch"
    static let operandCountMax = 16
    static let ownFlags = [
        Flag(
            "prefix",
            .text(placeholder: "PREFIX"),
            default: "",
            isRepeatable: true,
            hasEnvironment: false,
            "Changes of all properties whose names begin so. It can be given several times; at "
                + "most 16 names and prefixes are watched together."
        ),
        Flag.toggle(
            "initial",
            "Prints the current state first, as put, and then ready."
        ),
        Flag(
            "after",
            .text(placeholder: "REVISION"),
            default: "now",
            hasEnvironment: false,
            "Begins with the changes after this revision, or after the event with this id."
        ),
        Flag.toggle(
            "previous",
            "With --json, each event has the value before it as previous."
        ),
        Flag(
            "count",
            .integer(1...Int.max),
            default: "",
            hasEnvironment: false,
            "Ends after so many changes."
        ),
        ClientFlags.json,
    ]

    static let introduction = """
        prints changes as they come

        Usage: latchkey watch [NAME ...] [--prefix PREFIX ...] [--flag value ...]

        Without names and prefixes it watches all properties. Each line is a change:
        put NAME VALUE, delete NAME, or expire NAME. With --json:
        {"event":"put","id":…,"name":…,"revision":…,"created":…,"value":…}

        After a lost connection it goes on with the next change. If the service does not
        know that change any more, it prints gap: what was printed before counts no
        more, and the current state follows, as put, and then ready.

        \(ClientStatus.manual)
        """

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let isInitial = values.isOn("initial")
        guard !isInitial || !values.isGiven("after") else {
            throw ClientFailure(.usage, "give --initial or --after, not both.")
        }
        var request = ClientRequest(.get, "/v1/watch")
        for name in values.operands { request.add("name", name) }
        for prefix in values.list("prefix") { request.add("prefix", prefix) }
        if values.isOn("previous") { request.add("previous", "true") }
        let isJSON = values.isOn("json")
        var left = values.isGiven("count") ? values.integer("count") : Int.max
        let watch = Watch(
            client,
            request,
            after: values.given("after"),
            isInitial: isInitial,
            complain: complain
        )
        ClientOutput.endWithReader()
        try watch.run { event throws(ClientFailure) in
            try isJSON
                ? ClientOutput.write(object: PropertyText.object(of: event))
                : ClientOutput.write(PropertyText.line(of: event) + "\n")
            if !["ready", "gap"].contains(event.type) { left -= 1 }
            return left > 0
        }
    }
}
