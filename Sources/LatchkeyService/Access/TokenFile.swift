internal import Foundation

/// The file of tokens.
struct TokenFile: Sendable {
    static let byteCountMax = 4 << 20

    let path: String
    /// What the file was when it was read last.
    private var seen: [Int64] = []
    /// Why it could not be read the last time; empty if it could.
    private var failure = ""

    init(path: String) {
        self.path = path
    }

    private var hasChanged: Bool { Self.state(path) != seen }

    mutating func read() throws(TokenFileError) -> [TokenLine] {
        // Before the file is read: a change in between is seen the next time.
        let state = Self.state(path)
        let text = try text()
        // Only now: what could not be read is tried again.
        seen = state
        // While it is written, a file is empty, or ends in the middle of a line, whose prefix would
        // then be too short.
        guard text.utf8.last == UInt8(ascii: "\n") else {
            throw TokenFileError("\(path) is empty, or its last line has no end.")
        }
        do {
            return try TokenLine.lines(of: text)
        } catch {
            throw TokenFileError("\(path): \(error.message)")
        }
    }

    /// The lines, if the file is another one than that which was read last; nil if it is not, or
    /// if it cannot be read for the same reason as before.
    mutating func readIfChanged() throws(TokenFileError) -> [TokenLine]? {
        guard hasChanged else { return nil }
        let former = failure
        do {
            failure = ""
            return try read()
        } catch {
            failure = error.message
            if failure == former { return nil }
            throw error
        }
    }

    func text() throws(TokenFileError) -> String {
        let handle = FileHandle(forReadingAtPath: path)
        defer { try? handle?.close() }
        guard let bytes = try? handle?.read(upToCount: Self.byteCountMax + 1) else {
            throw TokenFileError("\(path) cannot be read.")
        }
        guard bytes.count <= Self.byteCountMax, let text = String(validating: bytes, as: UTF8.self)
        else {
            throw TokenFileError("\(path) is no text of at most \(Self.byteCountMax) bytes.")
        }
        return text
    }

    /// What changes when another file stands there, or when the file is written.
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

/// What is wrong with a file of tokens: a sentence.
package struct TokenFileError: Error, Sendable {
    package let message: String

    init(_ message: String) {
        self.message = message
    }
}
