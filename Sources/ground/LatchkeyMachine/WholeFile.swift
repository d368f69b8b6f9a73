package import Glibc

/// A file that is written as a whole: a temporary file beside it takes its name when it is
/// complete.
///
/// A reader sees the former file or the new one, also after a kill, a full disk or a loss of power.
/// Only a regular file is replaced. Open files (`-`, `/dev/stdout`, `/dev/fd/N`), a pipe with a
/// reader and a character device are written directly. A folder, a disk and a socket are refused.
package final class WholeFile {
    /// The permissions of a file, and whether it may exist already.
    package enum Rule: Sendable {
        /// Only its owner, whatever is replaced.
        case secret
        /// The same, and the name must be free: a secret never goes to a file that others may have
        /// open.
        case newSecret
        /// The permissions of the file that is replaced, or else the process's default.
        case asBefore
    }

    private enum Target {
        case descriptor(Int32)
        case direct
        /// The path of a regular file, without symbolic links; nil if it is new.
        case replaced(String, stat?)
    }

    private let path: String
    private let rule: Rule
    /// The file and its part; nil for what is written as it is.
    private let places: (target: String, part: String)?
    package let descriptor: Int32

    /// Makes the part, or opens what is written as it is.
    package init(_ path: String, _ rule: Rule) throws(FileFailure) {
        self.path = path
        self.rule = rule
        switch try Self.target(path, rule) {
        case .descriptor(let number):
            places = nil
            descriptor = fcntl(number, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else { throw FileFailure(path, errno) }
        case .direct:
            places = nil
            // A pipe without a reader is an error. Writing then waits, as with other files.
            let flags = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
            descriptor = unsafe open(path, flags)
            guard descriptor >= 0 else { throw Self.unopened(path, errno) }
            guard fcntl(descriptor, F_SETFL, O_WRONLY) == 0 else { throw FileFailure(path, errno) }
        case .replaced(let target, let former):
            let part = Self.part(of: target)
            places = (target, part)
            // Left by a process with this number that was killed.
            unsafe unlink(part)
            let mode: mode_t = rule == .asBefore ? 0o666 : 0o600
            descriptor = unsafe open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)
            guard descriptor >= 0 else { throw FileFailure(path, errno) }
            guard rule != .asBefore || former.map({ Self.adopt($0, descriptor) }) ?? true else {
                throw FileFailure(path, errno)
            }
        }
    }

    deinit {
        close(descriptor)
        // After `keep()` there is no part of this name.
        if let places { unsafe unlink(places.part) }
    }

    /// The file that is written until it has its name; nil for what is written as it is.
    package var part: String? { places?.part }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(FileFailure) {
        var place = 0
        while place < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[place...])
            let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            guard count > 0 || errno == EINTR else { throw FileFailure(path, errno) }
            place += max(0, count)
        }
    }

    package func write(_ bytes: [UInt8]) throws(FileFailure) {
        do {
            try unsafe bytes.withUnsafeBytes { try unsafe write($0) }
        } catch let failure as FileFailure {
            throw failure
        } catch {
            preconditionFailure("\(error) is of no known type.")
        }
    }

    /// Syncs the part, gives it the name of the file, and syncs the folder.
    ///
    /// - Throws: Then the former file is unchanged.
    package func keep() throws(FileFailure) {
        guard let places else { return }
        guard fsync(descriptor) == 0 else { throw FileFailure(path, errno) }
        if rule == .newSecret {
            // Unlike rename(2), it replaces nothing.
            if unsafe link(places.part, places.target) == 0 {
                unsafe unlink(places.part)
                return try FilePath.syncFolder(of: places.target)
            }
            // Some file systems have no links.
            guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else {
                throw FileFailure(path, errno)
            }
            guard FilePath.kind(places.target) == nil else { throw FileFailure(path, EEXIST) }
        }
        guard unsafe rename(places.part, places.target) == 0 else {
            throw FileFailure(path, errno)
        }
        try FilePath.syncFolder(of: places.target)
    }

    /// Removes a file that was kept.
    package func remove() {
        if let places { unsafe unlink(places.target) }
    }

    package static func write(
        _ bytes: [UInt8],
        to path: String,
        _ rule: Rule
    ) throws(FileFailure) {
        let file = try WholeFile(path, rule)
        try file.write(bytes)
        try file.keep()
    }

    /// Finds out whether a file can be written, without making or writing one.
    ///
    /// A pipe is not opened: its reader would see its end, and may come as late as the file's
    /// bytes.
    package static func check(_ path: String, _ rule: Rule) throws(FileFailure) {
        switch try target(path, rule) {
        case .descriptor(let number):
            guard fcntl(number, F_GETFD) >= 0 else { throw FileFailure(path, errno) }
        case .direct:
            guard unsafe access(path, W_OK) == 0 else { throw FileFailure(path, errno) }
        case .replaced(let target, _):
            guard unsafe access(FilePath.folder(of: target), W_OK | X_OK) == 0 else {
                throw FileFailure(path, errno)
            }
        }
    }

    /// The path of the regular file that is written under this name, without symbolic links.
    ///
    /// `nil` for anything else than a regular file: several reports can be written to it.
    package static func target(of path: String) -> String? {
        switch FilePath.kind(path) {
        case S_IFREG: FilePath.real(path) ?? path
        case nil: newTarget(path)
        case _: nil
        }
    }

    private static func newTarget(_ path: String) -> String {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        return FilePath.real(FilePath.folder(of: path)).map { "\($0)/\(name)" } ?? path
    }

    private static func target(_ path: String, _ rule: Rule) throws(FileFailure) -> Target {
        if let number = FilePath.descriptor(path) { return .descriptor(number) }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw FileFailure(path, errno) }
            return .replaced(newTarget(path), nil)
        }
        let kind = status.st_mode & S_IFMT
        switch kind {
        case S_IFIFO: return .direct
        case _ where rule == .newSecret: throw FileFailure(path, EEXIST)
        case S_IFREG: return .replaced(FilePath.real(path) ?? path, status)
        case S_IFCHR: return .direct
        case S_IFDIR: throw FileFailure(path, EISDIR)
        case _: throw FileFailure(path, reason: "it is no regular file and no pipe")
        }
    }

    private static func unopened(_ path: String, _ code: Int32) -> FileFailure {
        code == ENXIO && FilePath.kind(path) == S_IFIFO
            ? FileFailure(path, reason: "no program reads the pipe") : FileFailure(path, code)
    }

    /// In the same folder, and short enough whatever the file's name.
    private static func part(of target: String) -> String {
        let name = target.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        let start = String(decoding: name.utf8.prefix(200).prefix { $0 < 0x80 }, as: UTF8.self)
        return FilePath.folder(of: target) + "\(start).\(getpid()).part"
    }

    /// Gives the part the owner and the permissions of the file that it replaces, so that the
    /// readers of that file can read the new one.
    package static func adopt(_ former: stat, _ descriptor: Int32) -> Bool {
        let isOwned = fchown(descriptor, former.st_uid, former.st_gid) == 0
        // An owner may not be allowed to set a group.
        return (isOwned || former.st_uid == geteuid())
            && fchmod(descriptor, former.st_mode & 0o777) == 0
    }
}
