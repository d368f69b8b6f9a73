internal import Foundation
internal import LatchkeyComparison

/// Files that reports are read from and written to.
///
/// A report is written whole or not at all, through a temporary file in the same folder: a reader
/// sees the old file or the new one, also after a full disk or a loss of power. Anything else than
/// a regular file, such as a pipe, is written directly.
package enum ReportFile {
    /// Far more than a report needs, and harmless to read.
    private static let byteCountMax = 1 << 28

    package static func write(_ bytes: [UInt8], to path: String) throws(ReportFileError) {
        try explained("\(path) cannot be written") {
            if let target = target(of: path) {
                // Foundation syncs the temporary file before it renames it.
                try Data(bytes).write(to: URL(filePath: target), options: .atomic)
            } else {
                let file = try open(path, O_WRONLY)
                try file.write(contentsOf: bytes)
                try file.close()
            }
        }
    }

    /// Finds out whether a report can be written, without writing one.
    ///
    /// A pipe is not opened: its reader would see its end, and may come as late as the report.
    package static func checkCanWrite(_ path: String) throws(ReportFileError) {
        try explained("\(path) cannot be written") {
            let kind = kind(of: path)
            try check(kind != nil || errno == ENOENT)
            if kind == S_IFDIR { throw POSIXError(.EISDIR) }
            if let target = target(of: path) {
                try check(unsafe access(folder(of: target), W_OK | X_OK) == 0)
            } else {
                try check(unsafe access(path, W_OK) == 0)
            }
        }
    }

    /// The path of the regular file that is written under this name, without symbolic links.
    ///
    /// `nil` for anything else than a regular file: several reports can be written to it.
    package static func target(of path: String) -> String? {
        switch kind(of: path) {
        case S_IFREG:
            return realPath(path) ?? path
        case nil:
            let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
            return realPath(folder(of: path)).map { "\($0)/\(name)" } ?? path
        case _:
            return nil
        }
    }

    package static func read(_ path: String) throws(ReportFileError) -> [UInt8] {
        try explained("\(path) cannot be read") {
            let data = try open(path, O_RDONLY).read(upToCount: byteCountMax + 1) ?? Data()
            guard !data.isEmpty else { throw ReportFileError(message: "\(path) is empty.") }
            guard data.count <= byteCountMax else {
                throw ReportFileError(message: "\(path) is too long to be a report.")
            }
            return Array(data)
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

    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// Opens without waiting for the other end of a pipe: writing to one without a reader is an
    /// error, and one without a writer is empty.
    ///
    /// Reading and writing then wait, as they do with other files.
    private static func open(_ path: String, _ flags: Int32) throws -> FileHandle {
        let descriptor = unsafe Foundation.open(path, flags | O_NONBLOCK | O_CLOEXEC)
        try check(descriptor >= 0)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try check(fcntl(descriptor, F_SETFL, flags) == 0)
        return file
    }

    /// Throws the error of a system call that failed.
    private static func check(_ succeeded: Bool) throws {
        guard succeeded else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// Makes a sentence of the error of a system call, which may stand behind one of Foundation.
    private static func explained<Result>(
        _ failure: String,
        _ body: () throws -> Result
    ) throws(ReportFileError) -> Result {
        do {
            return try body()
        } catch let error as ReportFileError {
            throw error
        } catch {
            let cause = ((error as? CocoaError)?.underlying ?? error) as NSError
            let code = cause.domain == NSPOSIXErrorDomain ? Int32(cause.code) : EIO
            let reason = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
            throw ReportFileError(message: "\(failure): \(reason).")
        }
    }
}
