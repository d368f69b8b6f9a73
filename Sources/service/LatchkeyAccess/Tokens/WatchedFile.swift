internal import CLatchkeySystem
internal import Glibc
internal import LatchkeyMachine

/// A file that is read again when another one stands at its path, or when it was written.
package struct WatchedFile: Sendable {
    package static let byteCountMax = 4 << 20

    package let path: String
    /// The state of the file when it was read last.
    private var seen: [Int64] = []

    package init(path: String) {
        self.path = path
    }

    /// Whether it was a pipe, as that of `<(…)`, which is read once.
    private var wasPipe = false

    /// Whether it differs from the file that was read last.
    package var hasChanged: Bool { !wasPipe && Self.state(path) != seen }

    package mutating func read() throws(AccessFileError) -> String {
        guard !wasPipe else {
            throw AccessFileError("\(path) was a pipe, which cannot be read again.")
        }
        // Before the file is read: a change in between is seen the next time.
        let state = Self.state(path)
        let found = try text()
        wasPipe = found.isPipe
        // Only now: a failed read is tried again.
        seen = state
        return found.text
    }

    package func text() throws(AccessFileError) -> (text: String, isPipe: Bool) {
        let file: InputFile
        do throws(FileFailure) {
            file = try InputFile(path, byteCountMax: Self.byteCountMax)
        } catch {
            throw AccessFileError(error.unread)
        }
        guard file.bytes.count <= Self.byteCountMax,
            let text = String(validating: file.bytes, as: UTF8.self)
        else {
            throw AccessFileError("\(path) is no text of at most \(Self.byteCountMax) bytes.")
        }
        return (text, file.isPipe)
    }

    /// The numbers that change when another file stands there, or when the file is written.
    private static func state(_ path: String) -> [Int64] {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return [] }
        return [
            Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size),
            Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec),
            Int64(status.st_ctim.tv_sec), Int64(status.st_ctim.tv_nsec),
        ]
    }
}

/// The error in a file of tokens, certificates or keys: a message.
package struct AccessFileError: Error, Sendable {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
