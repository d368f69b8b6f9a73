internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyComparison
internal import LatchkeySettings
internal import LatchkeyStrategies
internal import LatchkeyVerdict

extension OneRequest {
    private static let changeFlags = [
        ClientFlags.ttl, ClientFlags.ttlIfNew, ClientFlags.ifRevision, ClientFlags.key,
        ClientFlags.json,
    ]

    static let put = OneRequest(
        name: "put",
        sends: .property(.put),
        needed: ["a name and a value", "a value; - reads it from standard input"],
        operandCountMax: 2,
        ownFlags: [
            Flag.toggle("string", "Sends the value as a JSON string with this text."),
            ClientFlags.ttl, ClientFlags.ttlIfNew, ClientFlags.ifRevision,
            Flag.toggle("if-absent", "Only if there is no such property; otherwise status 4."),
            ClientFlags.key, ClientFlags.json,
        ],
        introduction: """
            creates or replaces a property

            Usage: latchkey put NAME VALUE [--flag value ...]

            VALUE is JSON, such as 5, true, '"text"' or '{"max": 50}'; - reads it from
            standard input. After -- it can begin with --. Prints nothing; with --json:
            {"name":…,"revision":…}
            """,
        fill: { request, values throws(ClientFailure) in
            if values.isOn("if-absent") {
                guard !values.isGiven("if-revision") else {
                    throw ClientFailure(.usage, "give --if-revision or --if-absent, not both.")
                }
                request.add(field: "If-None-Match: *")
            }
            let isString = values.isOn("string")
            request.send(json: try ClientInput.json(values.operands[1], isString: isString))
        },
        show: ClientOutput.writeWritten
    )

    static let increment = OneRequest(
        name: "increment",
        sends: .property(.post, "increment"),
        needed: ["a name"],
        operandCountMax: 2,
        ownFlags: changeFlags,
        introduction: """
            adds to a number, and prints the sum

            Usage: latchkey increment NAME [N] [--flag value ...]

            Without N it adds 1. N can be negative. A property that does not exist starts
            at 0. With --json: {"name":…,"revision":…,"created":…,"ttl":…,"value":…}
            """,
        fill: { request, values throws(ClientFailure) in
            guard values.operands.count > 1 else { return }
            guard let number = Int64(values.operands[1]) else {
                throw ClientFailure(
                    .usage,
                    "'latchkey increment' adds a whole number of 64 bits, not "
                        + "'\(values.operands[1])'."
                )
            }
            request.send(json: Array("{\"by\":\(number)}".utf8))
        },
        show: ClientOutput.writeNew
    )

    static let merge = OneRequest(
        name: "merge",
        sends: .property(.patch),
        needed: ["a name and a patch", "a patch; - reads it from standard input"],
        operandCountMax: 2,
        ownFlags: changeFlags,
        introduction: """
            changes members of an object, and prints the new value

            Usage: latchkey merge NAME PATCH [--flag value ...]

            PATCH is a JSON merge patch (RFC 7396), such as '{"max": 60, "old": null}'; -
            reads it from standard input. With --json:
            {"name":…,"revision":…,"created":…,"ttl":…,"value":…}
            """,
        fill: { request, values throws(ClientFailure) in
            let patch = try ClientInput.json(values.operands[1])
            request.send(.bytes(patch), type: "application/merge-patch+json")
        },
        show: ClientOutput.writeNew
    )

    static let touch = OneRequest(
        name: "touch",
        sends: .property(.post, "touch"),
        needed: ["a name"],
        operandCountMax: 1,
        ownFlags: [ClientFlags.ttl, ClientFlags.ifRevision, ClientFlags.key, ClientFlags.json],
        introduction: """
            starts the time to live of a property again

            Usage: latchkey touch NAME --ttl SECONDS [--if-revision N]

            The value and the revision stay as they are, and watches get no event. Prints
            nothing; with --json: {"name":…,"revision":…}
            """,
        fill: { _, values throws(ClientFailure) in
            guard values.isGiven("ttl") else {
                throw ClientFailure(.usage, "'latchkey touch' needs --ttl.")
            }
        },
        show: ClientOutput.writeWritten
    )

    static let count = OneRequest(
        name: "count",
        sends: .path(.get, "/v1/count"),
        operandCountMax: 1,
        ownFlags: [ClientFlags.json],
        introduction: """
            prints how many properties there are under a prefix

            Usage: latchkey count [PREFIX]

            Without a prefix it counts all. With --json: {"count":…,"revision":…}
            """,
        fill: { request, values in request.add("prefix", values.operands.first) },
        show: { answer, values throws(ClientFailure) in
            guard let answer = answer.json, let count = answer["count"] else {
                throw ClientOutput.unexpected
            }
            try ClientOutput.write(line: values.isOn("json") ? answer : count)
        }
    )

    static let transaction = OneRequest(
        name: "txn",
        sends: .path(.post, "/v1/transactions"),
        operandCountMax: 1,
        ownFlags: [ClientFlags.wait, ClientFlags.key, ClientFlags.jsonAlways],
        introduction: """
            checks conditions and makes steps, all or nothing

            Usage: latchkey txn [TRANSACTION] [--wait SECONDS]

            TRANSACTION is JSON; - or none reads it from standard input. Example:
            latchkey txn '{"if": [{"name": "stock", "exists": true}],
                           "then": [{"increment": "stock", "by": -1}]}'

            Prints the answer: {"succeeded":…,"revision":…,"results":[…]}. With --wait, up
            to 60 seconds, a transaction whose conditions do not hold is tried again when
            one of its properties changes.
            """,
        fill: { request, values throws(ClientFailure) in
            request.send(json: try ClientInput.json(values.operands.first ?? "-"))
        },
        show: { answer, _ throws(ClientFailure) in
            guard let answer = answer.json, let hasSucceeded = answer["succeeded"]?.boolean else {
                throw ClientOutput.unexpected
            }
            try ClientOutput.write(line: answer)
            guard hasSucceeded else {
                throw ClientFailure(.unmet, "a condition does not hold: 'else' was done.")
            }
        }
    )

    static let promote = OneRequest(
        name: "promote",
        sends: .path(.post, "/v1/promote"),
        operandCountMax: 0,
        ownFlags: [ClientFlags.jsonAlways],
        introduction: """
            makes a replica a leader, which takes changes

            Usage: latchkey promote [--url URL]

            The replica stops following, and its revisions jump by at least 4294967296: how
            far depends on the time. What the old leader acknowledged last may be missing:
            nothing promises it. End the old leader before, or two services take changes.
            Needs the right admin.
            """,
        show: { answer, _ throws(ClientFailure) in
            try ClientOutput.write(answer.body + [0x0A])
        }
    )

    private static let strategies = Flag.Value.choice(StrategyKind.allCases.map(\.rawValue))

    static let `switch` = OneRequest(
        name: "switch",
        sends: .path(.put, "/v1/strategy"),
        needed: ["the name of a strategy"],
        operandCountMax: 1,
        operands: [strategies],
        ownFlags: [ClientFlags.json],
        introduction: """
            has a service serve under another strategy, from now on

            Usage: latchkey switch NAME

            'latchkey strategies' lists the names. The service serves meanwhile, and loses
            no change. It prints the strategies before and after, how long the switch took,
            and the longest access meanwhile. A service that is started again has the
            strategy of its --strategy. actor needs a service with one stripe. Needs the
            right admin. With --json: {"from":…,"to":…,"seconds":…,"longestHoldSeconds":…,
            "longestAccessSeconds":…}
            """,
        fill: { request, values throws(ClientFailure) in
            let kind = values.operands[0]
            do throws(InvalidSetting) {
                try strategies.check(kind)
            } catch {
                throw ClientFailure(.usage, "'latchkey switch' \(error.message)")
            }
            request.send(json: Array("{\"strategy\":\"\(kind)\"}".utf8))
        },
        show: { answer, values throws(ClientFailure) in
            guard !values.isOn("json") else { return try ClientOutput.write(object: answer.json) }
            guard let answer = answer.json, let from = answer["from"]?.string,
                let to = answer["to"]?.string
            else { throw ClientOutput.unexpected }
            func time(_ name: String) -> String {
                let seconds = answer[name].flatMap { Double($0.text) } ?? 0
                return FigureText.duration(nanoseconds: 1e9 * seconds)
            }
            try ClientOutput.write(
                from == to
                    ? "\(to) serves already\n"
                    : "from \(from) to \(to) in \(time("seconds")); longest access meanwhile: "
                        + "\(time("longestAccessSeconds"))\n"
            )
        }
    )
}
