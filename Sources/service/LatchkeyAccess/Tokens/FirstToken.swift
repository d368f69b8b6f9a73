internal import Foundation
internal import LatchkeyFrame
internal import LatchkeyMachine

extension AccessSettings {
    /// Whether a start makes the file of tokens, because it is not there yet.
    package var makesFirstToken: Bool {
        !firstToken.isEmpty && !FileManager.default.fileExists(atPath: tokenFile)
    }

    /// The message about an error of the file of tokens, with advice if there is none.
    package func sentence(about error: AccessFileError) -> String {
        let advice =
            firstToken.isEmpty && FilePath.kind(tokenFile) == nil
            ? " 'latchkey token create' makes it, or --first-token FILE at the first start." : ""
        return "--token-file: \(error.message)\(advice)"
    }

    /// Makes the file of tokens, with one token that has all rights, unless it is there.
    ///
    /// - Returns: Whether it was made.
    package func makeFirstToken() throws(AccessFileError) -> Bool {
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
        do throws(FileFailure) {
            let token = try WholeFile(firstToken, .newSecret)
            let tokens = try WholeFile(tokenFile, .newSecret)
            try tokens.write(Array((made.line + "\n").utf8))
            try token.write(Array((made.secret + "\n").utf8))
            // The token first: a file of tokens without its token would be of no use.
            try token.keep()
            do throws(FileFailure) {
                try tokens.keep()
            } catch {
                token.remove()
                throw error
            }
        } catch {
            throw AccessFileError(ofNew: error)
        }
        return true
    }

    /// Checks that the first token could be made, without making it.
    package func checkFirstToken() throws(AccessFileError) {
        do throws(FileFailure) {
            try WholeFile.check(firstToken, .newSecret)
            try WholeFile.check(tokenFile, .newSecret)
        } catch {
            throw AccessFileError(ofNew: error)
        }
    }
}

extension AccessFileError {
    fileprivate init(ofNew failure: FileFailure) {
        let advice = "Remove it, or choose another name: nothing is replaced by a token."
        self.init(failure.unwritten + (failure.code == EEXIST ? " \(advice)" : ""))
    }
}

extension TokenLine {
    /// Adds a line to a file of tokens, which is made if it is not there.
    package static func add(_ line: String, to path: String) throws(AccessFileError) {
        let file = WatchedFile(path: path)
        let former = FileManager.default.fileExists(atPath: path) ? try file.text().text : ""
        let start = former.isEmpty || former.utf8.last == UInt8(ascii: "\n") ? "" : "\n"
        do {
            _ = try lines(of: former + start + line)
        } catch {
            throw AccessFileError("\(path): \(error.message)")
        }
        do throws(FileFailure) {
            try append(Array((start + line + "\n").utf8), to: path)
        } catch {
            throw AccessFileError(error.unwritten)
        }
    }

    /// Adds bytes at the end of a file, or leaves it as it was.
    private static func append(_ bytes: [UInt8], to path: String) throws(FileFailure) {
        let isNew = FilePath.kind(path) == nil
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
        let descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw FileFailure(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw FileFailure(path, reason: "it is no regular file")
        }
        // In one piece: a service that reads the file now must not see a part of a line.
        let count = unsafe write(descriptor, bytes, bytes.count)
        var code = count < 0 ? errno : 0
        // If only a part is written, the disk is full; errno is of another call.
        if code == 0, count < bytes.count { code = ENOSPC }
        if code == 0, fsync(descriptor) != 0 { code = errno }
        guard code == 0 else {
            takeBack(max(0, count), behind: status.st_size, descriptor)
            if isNew { unsafe unlink(path) }
            throw FileFailure(path, code)
        }
        try FilePath.syncFolder(of: path)
    }

    /// Cuts off the last bytes of a file, unless another process has added more after them.
    private static func takeBack(_ count: Int, behind length: off_t, _ descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, Int(status.st_size - length) == count,
            ftruncate(descriptor, length) == 0
        else { return }
        fsync(descriptor)
    }

    /// Replaces a file of tokens by one without tokens, which a service accepts.
    ///
    /// The content of the file does not matter: it can be empty or damaged.
    package static func revokeAll(in path: String) throws(AccessFileError) {
        guard FilePath.kind(path) == S_IFREG else {
            throw AccessFileError("\(path) is no file of tokens.")
        }
        do {
            try WholeFile.write(Array("# All tokens were revoked.\n".utf8), to: path, .asBefore)
        } catch {
            throw AccessFileError(error.unwritten)
        }
    }
}
