internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey watch`: prints changes as they come.
struct WatchCommand: ClientCommand {
    let name = "watch"
    let operandCountMax = 16
    let ownFlags = [
        Flag(
            "prefix",
            .text(placeholder: "PREFIX"),
            default: "",
            isRepeatable: true,
            hasEnvironment: false,
            "Changes of all properties whose names begin so. It can be given several times; at "
                + "most 16 names and prefixes are watched together."
        ),
        Flag(
            "match",
            .text(placeholder: "PATTERN"),
            default: "",
            hasEnvironment: false,
            "Changes of the properties whose names match, such as 'jobs/*/state': a * stands for a "
                + "part of a name without /."
        ),
        Flag(
            "kinds",
            .text(placeholder: "KIND,..."),
            default: "put,delete,expire",
            hasEnvironment: false,
            "Only these changes; the current state is sent as put in any case."
        ),
        Flag.toggle("no-values", "The changes come without their values."),
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
        Flag(
            "exec",
            .text(placeholder: "COMMAND"),
            default: "",
            hasEnvironment: false,
            "Has the shell run this for each line that it would print, and prints nothing itself."
        ),
        ClientFlags.json,
    ]

    let introduction = """
        prints changes as they come

        Usage: latchkey watch [NAME ...] [--prefix PREFIX ...] [--flag value ...]

        Without names and prefixes it watches all properties. Each line is a change:
        put NAME VALUE, delete NAME, or expire NAME. With --json:
        {"event":"put","id":…,"name":…,"revision":…,"created":…,"value":…}

        After a lost connection it goes on with the next change. If the service does not
        know that change any more, it prints gap: what was printed before counts no
        more, and the current state follows, as put, and then ready.

        With --exec, each line is the standard input of a command, as with --json: also
        ready, gap, and the state between them, whatever --kinds says. So the command
        looks at "event". The next one is run when it has ended. If it fails, that is
        said, and the watch goes on.
        """

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let isInitial = values.isOn("initial")
        guard !isInitial || !values.isGiven("after") else {
            throw ClientFailure(.usage, "give --initial or --after, not both.")
        }
        var request = ClientRequest(.get, "/v1/watch")
        for name in values.operands { request.add("name", name) }
        for prefix in values.list("prefix") { request.add("prefix", prefix) }
        if let pattern = values.given("match") { request.add("match", pattern) }
        if let kinds = values.given("kinds") { request.add("kinds", kinds) }
        if values.isOn("no-values") { request.add("values", "false") }
        if values.isOn("previous") { request.add("previous", "true") }
        let isJSON = values.isOn("json")
        let command = values.given("exec")
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
            if let command {
                execute(command, PropertyText.object(of: event).oneLine + "\n")
            } else {
                try isJSON
                    ? ClientOutput.write(object: PropertyText.object(of: event))
                    : ClientOutput.write(PropertyText.line(of: event) + "\n")
            }
            if !["ready", "gap"].contains(event.type) { left -= 1 }
            return left > 0
        }
    }

    /// Runs a command of the shell, and waits for its end.
    private func execute(_ command: String, _ input: String) {
        // This program ignores it. The command should end with the reader of its output.
        signal(SIGPIPE, SIG_DFL)
        let pipe = unsafe popen(command, "w")
        signal(SIGPIPE, SIG_IGN)
        guard let pipe = unsafe pipe else { return complain("the shell cannot be started.") }
        unsafe fputs(input, pipe)
        let status = unsafe pclose(pipe)
        guard status != 0 else { return }
        let (number, code) = (status & 0x7F, status >> 8 & 0xFF)
        complain(
            "the command of --exec ended with "
                + (number == 0 ? "status \(code)." : "signal \(number).")
        )
    }
}
