internal import Glibc
package import LatchkeyFrame
internal import LatchkeyMachine
internal import LatchkeyStrategies

/// The file of the audit log, as the thread of its ``LineWriter`` uses it.
///
/// **Design.** Only the writing thread uses the descriptor. A new one is left in `next`, whose lock
/// guards it, and the thread takes it before the next write. While the disk is full or broken, the
/// thread tries again, and the queue of the writer fills up. So no line is torn, and lines without
/// room in the queue are counted there.
///
/// SAFETY: `@unchecked Sendable` because one thread uses the variables, as above.
package final class AuditFile: @unchecked Sendable {
    package static let retryMilliseconds: Int32 = 100
    /// The pause before the next lines are written: meanwhile, added lines do not wake the thread.
    private static let gatherMilliseconds: Int32 = 1

    private let path: String
    private let log: Log
    private let next = Guarded<Int32?>(nil)
    private var descriptor: Int32
    private var isFailing = false

    package init(_ path: String, _ log: Log) throws(AuditFailure) {
        self.path = path
        self.log = log
        descriptor = try Self.open(path)
        Self.endLine(descriptor)
    }

    /// Opens the path again; if that fails, the open file stays in use.
    package func reopen() throws(AuditFailure) {
        let descriptor = try Self.open(path)
        let former = next.write { next in
            defer { next = descriptor }
            return next
        }
        if let former { close(former) }
    }

    /// Checks that the file could be opened, without making it.
    package static func check(_ path: String) throws(AuditFailure) {
        let code = WritablePath.errorOfAppending(path)
        guard code == 0 else { throw AuditFailure(path, code) }
    }

    private static func open(_ path: String) throws(AuditFailure) -> Int32 {
        let descriptor = unsafe Glibc.open(
            path,
            O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY,
            0o600
        )
        guard descriptor >= 0 else { throw AuditFailure(path, errno) }
        return descriptor
    }

    /// Ends an incomplete last line, of a process that was killed while the disk was full.
    private static func endLine(_ descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size > 0
        else { return }
        var last: UInt8 = 0
        guard unsafe pread(descriptor, &last, 1, status.st_size - 1) == 1,
            last != UInt8(ascii: "\n")
        else { return }
        var lineFeed = UInt8(ascii: "\n")
        _ = unsafe Glibc.write(descriptor, &lineFeed, 1)
    }

    // MARK: On the thread that writes

    /// Writes all lines, however long that takes.
    package func write(_ lines: [[UInt8]]) {
        let bytes = Array(lines.joined())
        var offset = 0
        if bytes.isEmpty { takeNext() }
        while offset < bytes.count {
            if takeNext() {
                // A line that the former file has in part is written to the new file as a whole.
                offset = (bytes[..<offset].lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
            }
            let count = unsafe bytes[offset...].withUnsafeBytes { rest in
                unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if count > 0 {
                offset += count
                noteSuccess()
            } else if count < 0, errno != EINTR {
                noteFailure(errno)
                Self.wait(milliseconds: Self.retryMilliseconds)
            }
        }
        Self.wait(milliseconds: Self.gatherMilliseconds)
    }

    @discardableResult
    private func takeNext() -> Bool {
        let next = next.write { next in
            defer { next = nil }
            return next
        }
        guard let next else { return false }
        guard Self.identity(next) != Self.identity(descriptor) else {
            // The same file: an incomplete line continues.
            close(next)
            return false
        }
        close(descriptor)
        descriptor = next
        Self.endLine(descriptor)
        return true
    }

    /// The device and the number of a file.
    private static func identity(_ descriptor: Int32) -> [UInt64] {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0
            ? [UInt64(status.st_dev), UInt64(status.st_ino)] : []
    }

    private func noteFailure(_ code: Int32) {
        guard !isFailing else { return }
        isFailing = true
        log.write(.error, "audit log not written", ["reason": AuditFailure(path, code).message])
    }

    private func noteSuccess() {
        guard isFailing else { return }
        isFailing = false
        log.write(.info, "audit log is written again")
    }

    private static func wait(milliseconds: Int32) {
        _ = poll(nil, 0, milliseconds)
    }
}

/// The reason why the audit log cannot be opened or written.
package struct AuditFailure: Error, Sendable {
    package let message: String

    package init(_ path: String, _ code: Int32) {
        let reason = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        message = "the audit log '\(path)' cannot be opened or written: \(reason)"
    }
}

/// Checks whether a start could make or write a file, without doing so.
private enum WritablePath {
    /// The number of the error that writing at the end of a file, new or not, would have; 0 if it
    /// would be written.
    static func errorOfAppending(_ path: String) -> Int32 {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            guard errno == ENOENT else { return errno }
            return unsafe access(FilePath.folder(of: path), W_OK | X_OK) == 0 ? 0 : errno
        }
        guard status.st_mode & S_IFMT != S_IFDIR else { return EISDIR }
        return unsafe access(path, R_OK | W_OK) == 0 ? 0 : errno
    }
}
