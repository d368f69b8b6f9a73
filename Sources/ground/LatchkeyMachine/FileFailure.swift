package import Glibc

/// Why a file cannot be read or written.
package struct FileFailure: Error, Hashable, Sendable {
    package let path: String
    /// The system's number of the error; 0 if a rule of ours refuses the file.
    package let code: Int32
    /// The reason, for the end of a sentence.
    package let reason: String

    package init(_ path: String, _ code: Int32) {
        self.path = path
        self.code = code
        reason = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    package init(_ path: String, reason: String) {
        self.path = path
        code = 0
        self.reason = reason
    }

    package var unwritten: String { "\(path) cannot be written: \(reason)." }
    package var unread: String { "\(path) cannot be read: \(reason)." }
}

/// Functions for the paths of files.
package enum FilePath {
    /// The number of an open file that a path stands for: `-`, `/dev/stdout`, `/dev/fd/N`.
    ///
    /// Such a file is used as it is: it can be a pipe, or have a position, which opening it again
    /// would lose.
    package static func descriptor(_ path: String) -> Int32? {
        switch path {
        case "-", "/dev/stdout": return 1
        case "/dev/stderr": return 2
        case "/dev/stdin": return 0
        default:
            let folders = ["/dev/fd/", "/proc/self/fd/"]
            guard let folder = folders.first(where: path.hasPrefix) else { return nil }
            return Int32(path.dropFirst(folder.count))
        }
    }

    /// The kind of a file; nil if there is none, or errno says why it cannot be looked at.
    package static func kind(_ path: String) -> mode_t? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// Whether it is a pipe with a name.
    ///
    /// As an input it is refused: opening one waits for a writer, which may never come, and its
    /// bytes can be read only once. The pipe of `<(…)` has no name and a writer.
    package static func isNamedPipe(_ path: String) -> Bool {
        kind(path) == S_IFIFO && descriptor(path) == nil
    }

    /// Why this process may not read a file; nil if it may.
    package static func unreadable(_ path: String) -> FileFailure? {
        unsafe access(path, R_OK) == 0 ? nil : FileFailure(path, errno)
    }

    /// The folder that a file is in, with a slash at its end.
    package static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
    }

    /// The path without symbolic links; nil if there is no such file.
    package static func real(_ path: String) -> String? {
        let name = unsafe realpath(path, nil)
        defer { unsafe free(name) }
        return unsafe name.map { unsafe String(cString: $0) }
    }

    /// Puts the names of a folder's files on the disk.
    package static func syncFolder(of path: String) throws(FileFailure) {
        let folder = folder(of: path)
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFailure(folder, errno) }
        defer { close(descriptor) }
        // Some file systems have no sync of folders.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw FileFailure(folder, errno) }
    }
}
