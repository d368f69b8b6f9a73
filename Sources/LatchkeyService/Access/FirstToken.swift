internal import Foundation

extension AccessSettings {
    /// Whether a start makes the file of tokens, because it is not there yet.
    var makesFirstToken: Bool {
        !firstToken.isEmpty && !FileManager.default.fileExists(atPath: tokenFile)
    }

    /// Makes the file of tokens, with one token that has all rights, unless it is there.
    ///
    /// - Returns: Whether it was made.
    func makeFirstToken() throws(AccessFileError) -> Bool {
        guard makesFirstToken else { return false }
        let rights = Right.allCases.map(\.rawValue)
        let made: (secret: String, line: String)
        do {
            let properties = rights.prefix { Right(rawValue: $0)?.takesPrefix == true }
            let grants = [properties.joined(separator: ",")] + rights.dropFirst(properties.count)
            made = try TokenLine.make("first", grants)
        } catch {
            throw AccessFileError(error.message)
        }
        // The token first: a file of tokens without its token would be of no use.
        try PrivateFile.replace(firstToken, with: made.secret + "\n")
        do {
            try PrivateFile.replace(tokenFile, with: made.line + "\n")
        } catch {
            unsafe unlink(firstToken)
            throw error
        }
        return true
    }
}

/// Files that only their owner can read.
package enum PrivateFile {
    /// Checks that a file could be made, without making it.
    static func check(_ path: String) throws(AccessFileError) {
        guard WritablePath.errorOfMaking(path) == 0 else {
            throw AccessFileError("\(path) cannot be written.")
        }
    }

    /// Writes a new file as a whole, in place of one that is there.
    static func replace(_ path: String, with text: String) throws(AccessFileError) {
        let part = path + ".new"
        let bytes = Array(text.utf8)
        unsafe unlink(part)
        let descriptor = unsafe open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw AccessFileError("\(path) cannot be written.") }
        defer { close(descriptor) }
        guard unsafe write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0,
            unsafe rename(part, path) == 0
        else {
            throw AccessFileError("\(path) cannot be written.")
        }
    }
}

extension TokenLine {
    /// Adds a line to a file of tokens, which is made if it is not there.
    package static func add(_ line: String, to path: String) throws(AccessFileError) {
        let file = WatchedFile(path: path)
        let former = FileManager.default.fileExists(atPath: path) ? try file.text() : ""
        let start = former.isEmpty || former.utf8.last == UInt8(ascii: "\n") ? "" : "\n"
        do {
            _ = try lines(of: former + start + line)
        } catch {
            throw AccessFileError("\(path): \(error.message)")
        }
        let bytes = Array((start + line + "\n").utf8)
        let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw AccessFileError("\(path) cannot be written.") }
        defer { close(descriptor) }
        // In one piece: a service that reads the file now must not see a part of a line.
        guard unsafe write(descriptor, bytes, bytes.count) == bytes.count else {
            throw AccessFileError("\(path) cannot be written.")
        }
    }
}
