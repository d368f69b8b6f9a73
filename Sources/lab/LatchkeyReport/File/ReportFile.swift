internal import Foundation
internal import LatchkeyComparison
internal import LatchkeyMachine

/// Files that reports are read from and written to.
///
/// A report is written whole or not at all: see ``WholeFile``.
package enum ReportFile {
    /// The name of standard output among files that are written, and of standard input among those
    /// that are read.
    package static let standardStream = "-"

    /// Far more than a report needs, and harmless to read.
    private static let byteCountMax = 1 << 28

    package static func write(_ bytes: [UInt8], to path: String) throws(ReportFileError) {
        do {
            try WholeFile.write(bytes, to: path, .asBefore)
        } catch {
            throw ReportFileError(message: error.unwritten)
        }
    }

    /// Finds out whether a report can be written, without writing one.
    ///
    /// A pipe is not opened: its reader would see its end, and may come only with the report.
    package static func checkCanWrite(_ path: String) throws(ReportFileError) {
        do {
            try WholeFile.check(path, .asBefore)
        } catch {
            throw ReportFileError(message: error.unwritten)
        }
    }

    /// The path of the regular file that is written under this name, without symbolic links.
    ///
    /// `nil` for anything else than a regular file: several reports can be written to it.
    package static func target(of path: String) -> String? { WholeFile.target(of: path) }

    package static func read(_ path: String) throws(ReportFileError) -> [UInt8] {
        let name = name(ofRead: path)
        return try explained("\(name) cannot be read") {
            let data = try open(path).read(upToCount: byteCountMax + 1) ?? Data()
            guard !data.isEmpty else { throw ReportFileError(message: "\(name) is empty.") }
            guard data.count <= byteCountMax else {
                throw ReportFileError(message: "\(name) is too long to be a report.")
            }
            return Array(data)
        }
    }

    /// The name of a file that is read, in an error.
    static func name(ofRead path: String) -> String {
        path == standardStream ? "standard input" : path
    }

    /// Opens without waiting for the other end of a pipe: one without a writer is empty.
    ///
    /// Reading then waits, as it does with other files.
    private static func open(_ path: String) throws -> FileHandle {
        guard path != standardStream else { return .standardInput }
        let descriptor = unsafe Foundation.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try check(descriptor >= 0)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try check(fcntl(descriptor, F_SETFL, O_RDONLY) == 0)
        return file
    }

    /// Throws the error of a system call that failed.
    private static func check(_ succeeded: Bool) throws {
        guard succeeded else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// Makes a sentence of the error of a system call, which may be inside an error of Foundation.
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
