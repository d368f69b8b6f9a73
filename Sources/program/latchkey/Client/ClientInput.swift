internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine

/// The input of a command.
enum ClientInput {
    private static let byteCountMax = 1 << 30

    /// The JSON of an operand; `-` is standard input.
    ///
    /// White space around it is left out.
    static func json(
        _ operand: String,
        isString: Bool = false
    ) throws(ClientFailure) -> [UInt8] {
        var text = operand == "-" ? try standardInput() : Array(operand.utf8)
        guard !isString else {
            // As a shell does with the output of a command.
            if operand == "-", text.last == UInt8(ascii: "\n") { text.removeLast() }
            guard let string = String(validating: text, as: UTF8.self) else {
                throw ClientFailure(.usage, "the text is not UTF-8.")
            }
            return JSONValue(string: string).bytes
        }
        guard let value = JSONValue(text) else { throw notJSON(operand) }
        return value.bytes
    }

    private static func notJSON(_ operand: String) -> ClientFailure {
        guard operand != "-", operand.utf8.count <= 40 else {
            return ClientFailure(.usage, "the value is not JSON. --string sends it as a string.")
        }
        let quoted = JSONValue(string: operand).text
        return ClientFailure(
            .usage,
            "'\(operand)' is not JSON. Give '\(quoted)' to send a string, or --string."
        )
    }

    private static func standardInput() throws(ClientFailure) -> [UInt8] {
        do {
            let bytes = try FileHandle.standardInput.read(upToCount: byteCountMax)
            return bytes.map { Array($0) } ?? []
        } catch {
            throw ClientFailure(.usage, "standard input cannot be read.")
        }
    }
}

/// A file that a command reads, or standard input for `-`.
struct InputDescriptor: ~Copyable {
    private static let byteCountMax = 1 << 30
    private static let pieceByteCount = 1 << 16

    let number: Int32
    /// For messages.
    let name: String

    init(_ file: String) throws(ClientFailure) {
        number = file == "-" ? 0 : unsafe open(file, O_RDONLY | O_CLOEXEC)
        name = file == "-" ? "standard input" : file
        guard number >= 0 else { throw Self.unread(name) }
    }

    deinit { if number > 0 { close(number) } }

    private static func unread(_ name: String) -> ClientFailure {
        let reason = unsafe strerror(errno).map { unsafe String(cString: $0) }
        return ClientFailure(.usage, "\(name) cannot be read: \(reason ?? "error \(errno)").")
    }

    /// Gives all bytes to `take`, piece by piece, and refuses more than 1 GiB.
    func read(
        _ take: (UnsafeRawBufferPointer) throws(ClientFailure) -> Void
    ) throws(ClientFailure) {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.pieceByteCount,
            alignment: 1
        )
        defer { unsafe memory.deallocate() }
        var total = 0
        while true {
            let count = unsafe Glibc.read(number, memory.baseAddress, memory.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.unread(name) }
            guard count > 0 else { return }
            total += count
            guard total <= Self.byteCountMax else {
                throw ClientFailure(.usage, "\(name) is longer than 1 GiB.")
            }
            try unsafe take(UnsafeRawBufferPointer(rebasing: memory[..<count]))
        }
    }

    func bytes() throws(ClientFailure) -> [UInt8] {
        var all: [UInt8] = []
        try unsafe read { unsafe all += $0 }
        return all
    }
}

/// The output of a command.
enum ClientOutput {
    /// Writes bytes to standard output.
    ///
    /// If its reader has gone, the rest is of no use, and the program ends.
    static func write(_ bytes: some Collection<UInt8>) throws(ClientFailure) {
        let error = tryWrite(bytes)
        guard error != EPIPE else { exit(ClientStatus.done.rawValue) }
        guard error == 0 else {
            let reason = unsafe strerror(error).map { unsafe String(cString: $0) }
            throw ClientFailure(
                .failed,
                "standard output cannot be written: \(reason ?? "error \(error)")."
            )
        }
    }

    static func write(_ text: String) throws(ClientFailure) { try write(text.utf8) }

    /// Ends the program as soon as its reader has gone, also while there is nothing to write.
    ///
    /// **Design.** A thread of its own waits for that. It shares nothing with the others, and ends
    /// the process as a write to such a pipe does.
    static func endWithReader() {
        Thread.detachNewThread {
            // The errors of a descriptor, such as a pipe without a reader, are always reported.
            var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            while unsafe poll(&output, 1, -1) < 0, errno == EINTR {}
            // The first write reports a closed one.
            guard output.revents & Int16(POLLERR | POLLHUP) != 0 else { return }
            exit(ClientStatus.done.rawValue)
        }
    }

    /// A value, and a line feed.
    static func write(line value: JSONValue) throws(ClientFailure) {
        try write(value.bytes + [UInt8(ascii: "\n")])
    }

    /// An object in one line.
    static func write(object: JSONValue?) throws(ClientFailure) {
        guard let object else { throw unexpected }
        try write(object.oneLine + "\n")
    }

    /// The failure for an answer of another service.
    static let unexpected = ClientFailure(
        .failed,
        "the answer is not that of a Latchkey service of this version."
    )
}
