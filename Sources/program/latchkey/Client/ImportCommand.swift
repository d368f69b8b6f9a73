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
        Flag(
            "from",
            .choice(ForeignDump.Format.allCases.map(\.rawValue)),
            default: "latchkey",
            hasEnvironment: false,
            "The program that wrote the file: 'latchkey export', 'etcdctl get --prefix \"\" -w "
                + "json', or 'consul kv export'."
        ),
        Flag.toggle(
            "partial",
            "The lines are not all lines of one export: they need no last line. Keys of etcd or "
                + "Consul that cannot be imported are left out."
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

        Usage: latchkey import [FILE] [--partial] [--from etcd | consul]

        FILE has the lines of 'latchkey export'; - or none is standard input. Prints how
        many properties were imported; with --json: {"imported":…,"revision":…}. If a
        line is not right, the message says which, and how many are imported.

        With --from, FILE is what etcd or Consul has written out, at most 1 GiB. A value
        that is JSON stays as it is; any other text becomes a JSON text. Times to live
        are left out. If a key cannot be the name of a property, or a value is no text,
        the message says how many there are and which come first, and nothing is
        imported; with --partial the others are.
        """

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let input = try InputDescriptor(values.operands.first ?? "-")
        var request = ClientRequest(.post, "/v1/import")
        request.add("batch", values.given("batch"))
        request.add("partial", values.isOn("partial") ? "true" : nil)
        let lines = try lines(of: input, values).map { ClientRequest.Body.bytes($0) }
        request.send(lines ?? .descriptor(input.number), type: "application/x-ndjson")
        request.isStream = true
        request.repeatAdvice = "The same import can be made again: it writes the same values."
        let answer = try client.send(request).json
        guard let answer, let imported = answer["imported"] else { throw ClientOutput.unexpected }
        try ClientOutput.write(line: values.isOn("json") ? answer : imported)
    }

    /// The lines that a dump of another store stands for; nil for those of an export.
    private func lines(
        of input: borrowing InputDescriptor,
        _ values: FlagValues
    ) throws(ClientFailure) -> [UInt8]? {
        guard let format = ForeignDump.Format(rawValue: values.text("from")), format != .latchkey
        else { return nil }
        guard let dump = ForeignDump(try input.bytes(), format) else {
            let command = format == .etcd ? "etcdctl get --prefix \"\" -w json" : "consul kv export"
            throw ClientFailure(.usage, "\(input.name) is not what '\(command)' writes.")
        }
        if let refusal = dump.refusal {
            guard values.isOn("partial") else {
                let advice = "Nothing is imported. --partial imports the others."
                throw ClientFailure(.usage, "\(refusal) \(advice)")
            }
            complain(refusal)
        }
        return dump.lines
    }
}
