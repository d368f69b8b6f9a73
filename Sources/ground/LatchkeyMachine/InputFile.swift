internal import Glibc

/// A file that is read as a whole; opening it never waits.
package struct InputFile: Sendable {
    package let bytes: [UInt8]
    /// Whether it is a pipe, which cannot be read again.
    package let isPipe: Bool
    /// Whether users other than its owner can read it.
    package let isOpenToOthers: Bool

    /// The wait for a pipe between two checks for signals.
    private static let waitMilliseconds: Int32 = 100

    /// Reads at most `byteCountMax` bytes, and one more if there are more.
    ///
    /// The pipe of `<(…)` is read to its end, or until a signal that ends the service waits.
    package init(_ path: String, byteCountMax: Int) throws(FileFailure) {
        // Otherwise a pipe without a writer would block, also for signals, and opening a device can
        // have effects.
        let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw FileFailure(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileFailure(path, errno) }
        isPipe = status.st_mode & S_IFMT == S_IFIFO
        isOpenToOthers = status.st_mode & (S_IRGRP | S_IROTH) != 0
        guard !isPipe || FilePath.descriptor(path) != nil else {
            throw FileFailure(path, reason: "it is a pipe with a name; give a file or <(…)")
        }
        bytes = try Self.read(descriptor, path, byteCountMax + 1)
    }

    private static func read(
        _ descriptor: Int32,
        _ path: String,
        _ countMax: Int
    ) throws(FileFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < countMax {
            let wanted = min(piece.count, countMax - bytes.count)
            let count = unsafe Glibc.read(descriptor, &piece, wanted)
            if count == 0 { break }
            if count > 0 {
                bytes += piece[..<count]
            } else if errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = unsafe poll(&waiting, 1, waitMilliseconds)
                guard !EndingSignals.isPending else { throw FileFailure(path, EINTR) }
            } else if errno != EINTR {
                throw FileFailure(path, errno)
            }
        }
        return bytes
    }
}
