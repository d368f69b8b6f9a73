internal import Glibc
internal import LatchkeyComparison

/// Files that reports are read from and written to.
///
/// A report is written whole or not at all: the bytes go to a temporary file in the same folder,
/// which is synced and then renamed. A reader sees the old file or the new one, also after a full
/// disk or a loss of power. What is no regular file, such as a pipe, is written as it is.
package enum ReportFile {
    /// Far more than a report has; less than what harms.
    static let byteCountMax = 1 << 28

    package static func write(_ bytes: [UInt8], to path: String) throws(ReportFileError) {
        if let target = target(of: path) {
            try replace(target, with: bytes, named: path)
        } else {
            let descriptor = try open(path, O_WRONLY, "written")
            var error = writeAll(bytes, descriptor)
            if close(descriptor) != 0, error == 0 { error = errno }
            guard error == 0 else { throw failure("written", path, error) }
        }
    }

    /// Finds out whether a report can be written, without writing one.
    ///
    /// A pipe is not opened: its reader would see its end, and may come as late as the report.
    package static func checkCanWrite(_ path: String) throws(ReportFileError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 || errno == ENOENT else {
            throw failure("written", path, errno)
        }
        guard kind(of: path) != S_IFDIR else { throw failure("written", path, EISDIR) }
        let target = target(of: path)
        let place = target.map(folder) ?? path
        guard unsafe access(place, target == nil ? W_OK : W_OK | X_OK) == 0 else {
            throw failure("written", path, errno)
        }
    }

    /// The regular file that is written under this name, by the one name that is its own.
    ///
    /// `nil` for what is no regular file, which several reports can be written to.
    package static func target(of path: String) -> String? {
        switch kind(of: path) {
        case S_IFREG:
            // Through a symbolic link, to the file that it names.
            return realPath(path) ?? path
        case nil:
            let folder = folder(of: path)
            let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
            return realPath(folder).map { "\($0)/\(name)" } ?? path
        case _:
            return nil
        }
    }

    package static func read(_ path: String) throws(ReportFileError) -> [UInt8] {
        let descriptor = try open(path, O_RDONLY, "read")
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { chunk in
                unsafe Glibc.read(descriptor, chunk.baseAddress, chunk.count)
            }
            if count == 0 {
                guard !bytes.isEmpty else { throw ReportFileError(message: "\(path) is empty.") }
                return bytes
            }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw failure("read", path, errno)
            }
            bytes += chunk[..<count]
            guard bytes.count <= byteCountMax else {
                throw ReportFileError(message: "\(path) is too long to be a report.")
            }
        }
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    }

    private static func realPath(_ path: String) -> String? {
        let name = unsafe realpath(path, nil)
        defer { unsafe free(name) }
        return unsafe name.map { unsafe String(cString: $0) }
    }

    /// Opens without waiting for the other end of a pipe: to write to one that nobody reads is an
    /// error, and one that nobody writes to is empty.
    ///
    /// What follows waits, as it does with other files.
    private static func open(
        _ path: String,
        _ flags: Int32,
        _ verb: String
    ) throws(ReportFileError) -> Int32 {
        let descriptor = unsafe Glibc.open(path, flags | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(verb, path, errno) }
        guard fcntl(descriptor, F_SETFL, flags) == 0 else {
            let error = errno
            close(descriptor)
            throw failure(verb, path, error)
        }
        return descriptor
    }

    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private static func replace(
        _ target: String,
        with bytes: [UInt8],
        named path: String
    ) throws(ReportFileError) {
        // Not longer for a longer name, which may have as many characters as a name can have.
        var name = Array((folder(of: target) + "/.latchkey.XXXXXX").utf8CString)
        let descriptor = unsafe name.withUnsafeMutableBufferPointer { name in
            unsafe name.baseAddress.map { unsafe mkstemp($0) } ?? -1
        }
        guard descriptor >= 0 else { throw failure("written", path, errno) }
        let temporary = String(
            decoding: name.dropLast().map(UInt8.init(bitPattern:)),
            as: UTF8.self
        )
        var error = writeAll(bytes, descriptor)
        // mkstemp makes files that only their owner can read.
        if error == 0, fchmod(descriptor, 0o666 & ~fileModeMask()) != 0 { error = errno }
        if error == 0, fsync(descriptor) != 0 { error = errno }
        if close(descriptor) != 0, error == 0 { error = errno }
        if error == 0, unsafe rename(temporary, target) != 0 { error = errno }
        guard error == 0 else {
            unsafe unlink(temporary)
            throw failure("written", path, error)
        }
        syncFolder(of: target)
    }

    private static func writeAll(_ bytes: [UInt8], _ descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            }
            guard count >= 0 || errno == EINTR else { return errno }
            rest = rest.dropFirst(max(0, count))
        }
        return 0
    }

    /// The mask can only be read by setting it.
    ///
    /// No other thread makes files at that time: reports are written after the run.
    private static func fileModeMask() -> mode_t {
        let mask = umask(0o077)
        umask(mask)
        return mask
    }

    /// Makes the new name durable.
    ///
    /// The file is whole without it, so a folder that cannot be synced is no failure.
    private static func syncFolder(of path: String) {
        let descriptor = unsafe Glibc.open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func failure(_ verb: String, _ path: String, _ error: Int32) -> ReportFileError {
        let reason = unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
        return ReportFileError(message: "\(path) cannot be \(verb): \(reason).")
    }
}
