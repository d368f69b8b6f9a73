internal import Foundation
internal import LatchkeyComparison

/// Files that reports are read from and written to.
///
/// A report is written whole or not at all, by way of a temporary file in the same folder: a reader
/// sees the old file or the new one, also after a full disk or a loss of power. What is no regular
/// file, such as a pipe, is written as it is.
package enum ReportFile {
    /// Far more than a report has; less than what harms.
    static let byteCountMax = 1 << 28

    package static func write(_ bytes: [UInt8], to path: String) throws(ReportFileError) {
        do {
            if let target = target(of: path) {
                // Foundation syncs the temporary file before it renames it.
                try Data(bytes).write(to: URL(filePath: target), options: .atomic)
            } else {
                let file = try open(path, O_WRONLY, "written")
                try file.write(contentsOf: bytes)
                try file.close()
            }
        } catch let error as ReportFileError {
            throw error
        } catch {
            throw failure("written", path, code(of: error))
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
        do {
            let file = try open(path, O_RDONLY, "read")
            let data = try file.read(upToCount: byteCountMax + 1) ?? Data()
            guard !data.isEmpty else { throw ReportFileError(message: "\(path) is empty.") }
            guard data.count <= byteCountMax else {
                throw ReportFileError(message: "\(path) is too long to be a report.")
            }
            return Array(data)
        } catch let error as ReportFileError {
            throw error
        } catch {
            throw failure("read", path, code(of: error))
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
    ) throws(ReportFileError) -> FileHandle {
        let descriptor = unsafe Foundation.open(path, flags | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(verb, path, errno) }
        guard fcntl(descriptor, F_SETFL, flags) == 0 else {
            let error = errno
            close(descriptor)
            throw failure(verb, path, error)
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// The error of the system call behind an error of Foundation.
    private static func code(of error: any Error) -> Int32 {
        let cause = ((error as? CocoaError)?.underlying ?? error) as NSError
        return cause.domain == NSPOSIXErrorDomain ? Int32(cause.code) : EIO
    }

    private static func failure(_ verb: String, _ path: String, _ error: Int32) -> ReportFileError {
        let reason = unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
        return ReportFileError(message: "\(path) cannot be \(verb): \(reason).")
    }
}
