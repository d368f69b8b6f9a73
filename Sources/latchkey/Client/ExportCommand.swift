internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyReport
internal import LatchkeySettings

/// `latchkey export`: writes all properties to a file.
enum ExportCommand: ClientCommand {
    static let name = "export"
    static let operandCountMax = 0
    static let ownFlags = [
        Flag(
            "prefix",
            .text(placeholder: "PREFIX"),
            default: "",
            hasEnvironment: false,
            "Only properties whose names begin so."
        ),
        Flag(
            "output",
            .text(placeholder: "FILE"),
            default: "-",
            hasEnvironment: false,
            "The file, also -o FILE; - is standard output. A file that is there is replaced when "
                + "the export is whole."
        ),
    ]

    static let introduction = """
        writes all properties, as of one revision, to a file

        Usage: latchkey export [--prefix PREFIX] [-o FILE]

        Each line is a property: {"name":…,"value":…,"revision":…,"created":…}. The
        last one says that the export is whole; without it, the status is 1.
        'latchkey import' reads the file.

        \(ClientStatus.manual)
        """

    static func spelledOut(_ arguments: [String]) -> [String] {
        arguments.map { $0 == "-o" ? "--output" : $0 }
    }

    static func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        var request = ClientRequest(.get, "/v1/export")
        request.add("prefix", values.given("prefix"))
        request.isStream = true
        let file = values.text("output")
        guard file != "-" else {
            return try unsafe send(request, client) { bytes throws(ClientFailure) in
                try unsafe ClientOutput.write(bytes)
            }
        }
        let target = try WholeFile(file)
        try unsafe send(request, client) { bytes throws(ClientFailure) in
            try unsafe target.write(bytes)
        }
        try target.keep()
    }

    private static func send(
        _ request: ClientRequest,
        _ client: Client,
        _ write: (UnsafeRawBufferPointer) throws(ClientFailure) -> Void
    ) throws(ClientFailure) {
        var end = ExportEnd()
        var problem: ClientFailure?
        let answer: ClientAnswer
        do throws(ConnectionFailure) {
            answer = try unsafe client.connection.stream(request) { bytes in
                unsafe end.feed(bytes)
                do throws(ClientFailure) {
                    try unsafe write(bytes)
                } catch {
                    problem = error
                }
                return problem == nil
            }
        } catch {
            throw problem ?? client.failure(error)
        }
        guard answer.isSuccess else { throw client.failure(answer) }
        guard end.isWhole else {
            throw ClientFailure(.failed, "the export was cut off: its last line is missing.")
        }
    }
}

/// A file that replaces another one when it is whole; what is no regular file is written as it is.
private final class WholeFile {
    private let path: String
    /// The file, without symbolic links, and the one that replaces it; nil for no regular file.
    private let places: (target: String, part: String)?
    private let descriptor: Int32

    init(_ path: String) throws(ClientFailure) {
        self.path = path
        places = ReportFile.target(of: path).map { ($0, "\($0).\(getpid()).part") }
        let flags = O_WRONLY | O_CLOEXEC | (places == nil ? 0 : O_CREAT | O_EXCL)
        descriptor = unsafe open(places?.part ?? path, flags, 0o600)
        guard descriptor >= 0 else { throw failure() }
    }

    deinit {
        close(descriptor)
        // After it was kept there is none of this name.
        if let places { unsafe unlink(places.part) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(ClientFailure) {
        guard unsafe tryWrite(bytes, to: descriptor) == 0 else { throw failure() }
    }

    func keep() throws(ClientFailure) {
        guard let places else { return }
        guard fsync(descriptor) == 0, unsafe rename(places.part, places.target) == 0 else {
            throw failure()
        }
    }

    private func failure() -> ClientFailure {
        let reason = unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "error \(errno)"
        return ClientFailure(.usage, "\(path) cannot be written: \(reason).")
    }
}
