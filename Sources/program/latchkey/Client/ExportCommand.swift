internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyMachine
internal import LatchkeySettings

/// `latchkey export`: writes all properties to a file.
struct ExportCommand: ClientCommand {
    let name = "export"
    let operandCountMax = 0
    let ownFlags = [
        ClientFlags.prefix,
        Flag(
            "output",
            .text(placeholder: "FILE"),
            default: "-",
            hasEnvironment: false,
            "The file, also -o FILE; - is standard output. A file that is there is replaced when "
                + "the export is whole."
        ),
        ClientFlags.jsonAlways,
    ]

    let introduction = """
        writes all properties, as of one revision, to a file

        Usage: latchkey export [--prefix PREFIX] [-o FILE]

        Each line is a property: {"name":…,"value":…,"revision":…,"created":…}. The
        last one says that the export is whole; without it, the status is 1.
        'latchkey import' reads the file.
        """

    func spelledOut(_ arguments: [String]) -> [String] {
        arguments.map { $0 == "-o" ? "--output" : $0 }
    }

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        var request = ClientRequest(.get, "/v1/export")
        request.add("prefix", values.given("prefix"))
        let file = values.text("output")
        guard file != "-" else {
            return try unsafe send(request, client) { bytes throws(ClientFailure) in
                try unsafe ClientOutput.write(bytes)
            }
        }
        // An incomplete file is removed.
        let end = DeferredEnd()
        defer { end.end() }
        try save(request, client, file, end)
    }

    private func save(
        _ request: ClientRequest,
        _ client: Client,
        _ file: String,
        _ end: DeferredEnd
    ) throws(ClientFailure) {
        let target = try written { () throws(FileFailure) in try WholeFile(file, .secret) }
        try unsafe send(request, client, end) { bytes throws(ClientFailure) in
            try written { () throws(FileFailure) in try unsafe target.write(bytes) }
        }
        try written { () throws(FileFailure) in try target.keep() }
    }

    private func written<Result>(
        _ body: () throws(FileFailure) -> Result
    ) throws(ClientFailure) -> Result {
        do throws(FileFailure) {
            return try body()
        } catch {
            throw ClientFailure(.usage, error.unwritten)
        }
    }

    private func send(
        _ request: ClientRequest,
        _ client: Client,
        _ end: DeferredEnd? = nil,
        _ write: (UnsafeRawBufferPointer) throws(ClientFailure) -> Void
    ) throws(ClientFailure) {
        var last = ExportEnd()
        var problem: ClientFailure?
        do throws(ClientFailure) {
            let isCancelled = { end?.isAsked ?? false }
            _ = try unsafe client.stream(request, isCancelled: isCancelled) { bytes in
                unsafe last.feed(bytes)
                do throws(ClientFailure) {
                    try unsafe write(bytes)
                } catch {
                    problem = error
                }
                return problem == nil
            }
        } catch {
            throw problem ?? error
        }
        guard last.isWhole else {
            throw ClientFailure(.failed, "the export was cut off: its last line is missing.")
        }
    }
}
