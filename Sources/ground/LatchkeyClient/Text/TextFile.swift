internal import LatchkeyMachine

/// A short file, read as a whole.
struct TextFile {
    let lines: [String]
    /// Whether users other than its owner can read it.
    let isOpenToOthers: Bool

    private static let byteCountMax = 1 << 16

    /// `nil` if there is no such file, or it cannot be read.
    init?(_ path: String) {
        guard let file = try? InputFile(path, byteCountMax: Self.byteCountMax) else { return nil }
        isOpenToOthers = file.isOpenToOthers
        lines = String(decoding: file.bytes.prefix(Self.byteCountMax), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in String(line.last == "\r" ? line.dropLast() : line) }
    }

    /// Without spaces, tabs and carriage returns around it.
    static func trimmed(_ text: Substring) -> String {
        let spaces: [Character] = [" ", "\t", "\r", "\n", "\r\n"]
        let start = text.drop(while: spaces.contains)
        return String(start.dropLast(start.reversed().prefix(while: spaces.contains).count))
    }
}
