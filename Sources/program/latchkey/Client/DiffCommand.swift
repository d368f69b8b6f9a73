internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// `latchkey diff`: the differences between two exports.
struct DiffCommand: ClientCommand {
    let name = "diff"
    let operandCountMax = 2
    let operands: [Flag.Value] = [.text(placeholder: "FILE"), .text(placeholder: "FILE")]
    let ownFlags = [
        ClientFlags.prefix,
        ClientFlags.json,
    ]

    let introduction = """
        prints what is different between two exports

        Usage: latchkey diff A B

        A and B are files of 'latchkey export', - for standard input, or addresses of
        services, such as http://127.0.0.1:8080, which are exported now. It prints, by
        name,

          + NAME VALUE             a property that only B has
          - NAME VALUE             one that only A has
          ~ NAME VALUE -> VALUE    one whose value is another one

        and with --json, a line for each:
        {"change":"added" | "removed" | "changed","name":…,"former":…,"value":…}
        Values are the same if they mean the same: the order of members and the
        spelling of numbers do not matter. Revisions and times to live are not compared.
        A is kept in memory, and a file has at most 1 GiB.
        """

    let status = """
        Status:
          0    there is no difference
          1    there is one
          2    the command line, a file or a setting cannot be used, or a service does
               not answer as it should
          5    refused: no right, over a rate or a bound, or the service is stopping
        """

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let operands = values.operands
        guard operands.count == 2 else {
            throw ClientFailure(.usage, "'latchkey diff' needs two files or addresses.")
        }
        guard operands != ["-", "-"] else {
            throw ClientFailure(.usage, "only one of both can be standard input.")
        }
        var difference = ExportDifference()
        do throws(ClientFailure) {
            try read(operands[0], values) { difference.addFirst($0, $1) }
            try read(operands[1], values) { difference.addSecond($0, $1) }
        } catch  where error.status == .failed {
            // Status 1 says that there is a difference.
            complain(error.message)
            exit(ClientStatus.usage.rawValue)
        }
        let changes = difference.changes
        for change in changes {
            if values.isOn("json") {
                try ClientOutput.write(line: change.json)
            } else {
                try ClientOutput.write(change.line + "\n")
            }
        }
        if !changes.isEmpty { exit(1) }
    }

    /// Gives the properties of an export to `take`.
    private func read(
        _ operand: String,
        _ values: FlagValues,
        _ take: (_ name: String, _ value: JSONValue) -> Void
    ) throws(ClientFailure) {
        var lines = ExportLines(of: operand == "-" ? "standard input" : operand)
        let prefix = values.given("prefix")
        func takeMatching(_ name: String, _ value: JSONValue) {
            if name.utf8.starts(with: (prefix ?? "").utf8) { take(name, value) }
        }
        if operand.hasPrefix("http://") || operand.hasPrefix("https://") {
            var settings = try ClientFlags.settings(values)
            guard ServiceAddress(operand) != nil else {
                throw ClientFailure(.usage, "'\(operand)' is not the address of a service.")
            }
            settings.url = operand
            var request = ClientRequest(.get, "/v1/export")
            request.add("prefix", prefix)
            var problem: ClientFailure?
            _ = try unsafe settings.client().stream(request) { bytes in
                do throws(ClientFailure) {
                    try unsafe lines.feed(bytes, take)
                } catch {
                    problem = error
                }
                return problem == nil
            }
            if let problem { throw problem }
        } else {
            try unsafe InputDescriptor(operand).read { (bytes) throws(ClientFailure) in
                try unsafe lines.feed(bytes, takeMatching)
            }
        }
        try lines.finish()
    }
}
