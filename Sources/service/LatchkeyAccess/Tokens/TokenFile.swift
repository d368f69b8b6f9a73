/// The file of tokens.
package struct TokenFile: Sendable {
    private var file: WatchedFile
    /// The reason why the last read failed; empty if it did not fail.
    private var failure = ""

    package init(path: String) {
        file = WatchedFile(path: path)
    }

    package mutating func read() throws(AccessFileError) -> [TokenLine] {
        let text = try file.read()
        // While it is written, a file is empty, or ends in the middle of a line, whose prefix would
        // then be too short.
        guard text.utf8.last == UInt8(ascii: "\n") else {
            throw AccessFileError(
                "\(file.path) is empty, or its last line has no end: the tokens that it had stay "
                    + "valid until it is right. 'latchkey token revoke --all --token-file "
                    + "\(file.path)' ends them all."
            )
        }
        do {
            return try TokenLine.lines(of: text)
        } catch {
            throw AccessFileError("\(file.path): \(error.message)")
        }
    }

    /// The lines, if the file has changed since the last read; nil if it has not, or if it cannot
    /// be read for the same reason as before.
    package mutating func readIfChanged() throws(AccessFileError) -> [TokenLine]? {
        guard file.hasChanged else { return nil }
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
}
