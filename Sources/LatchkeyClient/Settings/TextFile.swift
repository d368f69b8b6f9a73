internal import Glibc

/// A short file, read as a whole.
struct TextFile {
    let lines: [String]
    /// Whether users other than its owner can read it.
    let isOpenToOthers: Bool

    private static let byteCountMax = 1 << 16

    /// `nil` if there is no such file, or it cannot be read.
    init?(_ path: String) {
        guard let file = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(file) }
        var status = stat()
        guard unsafe fstat(fileno(file), &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: Self.byteCountMax)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        guard unsafe ferror(file) == 0 else { return nil }
        lines = String(decoding: bytes[..<count], as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in String(line.last == "\r" ? line.dropLast() : line) }
        isOpenToOthers = status.st_mode & (S_IRGRP | S_IROTH) != 0
    }
}
