internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey import`: writes the properties of a file.
struct ImportCommand: ClientCommand {
    let name = "import"
    let operandCountMax = 1
    let operands: [Flag.Value] = [.text(placeholder: "FILE")]
    let ownFlags = [
        Flag.toggle(
            "partial",
            "The lines are not all lines of one export: they need no last line."
        ),
        Flag(
            "batch",
            .integer(1...1000),
            default: "128",
            hasEnvironment: false,
            "How many lines are one commit."
        ),
        ClientFlags.json,
    ]

    let introduction = """
        writes the properties of a file

        Usage: latchkey import [FILE] [--partial]

        FILE has the lines of 'latchkey export'; - or none is standard input. Prints how
        many properties were imported; with --json: {"imported":…,"revision":…}. If a
        line is not right, the message says which, and how many are imported.
        """

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let file = values.operands.first ?? "-"
        let descriptor = file == "-" ? 0 : unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = unsafe strerror(errno).map { unsafe String(cString: $0) }
            throw ClientFailure(
                .usage,
                "\(file) cannot be read: \(reason ?? "error \(errno)")."
            )
        }
        defer { if descriptor > 0 { close(descriptor) } }
        var request = ClientRequest(.post, "/v1/import")
        request.add("batch", values.given("batch"))
        request.add("partial", values.isOn("partial") ? "true" : nil)
        request.send(.descriptor(descriptor), type: "application/x-ndjson")
        request.isStream = true
        request.repeatAdvice = "The same import can be made again: it writes the same values."
        let answer = try client.send(request).json
        guard let answer, let imported = answer["imported"] else { throw ClientOutput.unexpected }
        try ClientOutput.write(line: values.isOn("json") ? answer : imported)
    }
}
