/// Replaces comments and literals of Swift or C with spaces, and keeps everything else in place.
///
/// It knows nested and line comments, one-line, multi-line and raw strings, and C's character
/// literals. It does not know regular expression literals, and an interpolation counts as part of
/// its string. That is enough for rules about lines.
struct CodeScanner {
    enum Language {
        case swift
        case c
    }

    /// With which comments and literals begin.
    private static let openings = Array("/\"#'".utf8)

    private let input: [UInt8]
    private let language: Language
    private var output: [UInt8] = []
    private var position = 0

    static func blanked(_ text: String, language: Language) -> String {
        var scanner = CodeScanner(input: Array(text.utf8), language: language)
        scanner.scan()
        return String(decoding: scanner.output, as: UTF8.self)
    }

    private init(input: [UInt8], language: Language) {
        self.input = input
        self.language = language
        output.reserveCapacity(input.count)
    }

    private mutating func scan() {
        while position < input.count {
            // First what nearly all bytes are: not optimized, the other questions take long.
            if !Self.openings.contains(input[position]) {
                output.append(input[position])
                position += 1
            } else if starts(with: "//") {
                let end = input[position...].firstIndex(of: UInt8(ascii: "\n")) ?? input.count
                blank(end - position)
            } else if starts(with: "/*") {
                blankBlockComment()
            } else if let hashes = rawStringHashes() {
                blankString(hashes: hashes)
            } else if language == .c, starts(with: "'") {
                blankQuoted("'")
            } else {
                keep(1)
            }
        }
    }

    private func starts(with text: String, at offset: Int = 0) -> Bool {
        var place = position + offset
        for byte in text.utf8 {
            guard place < input.count, input[place] == byte else { return false }
            place += 1
        }
        return true
    }

    private mutating func keep(_ count: Int) {
        let end = min(position + count, input.count)
        output.append(contentsOf: input[position..<end])
        position = end
    }

    /// Writes spaces for `count` bytes, but keeps line ends.
    ///
    /// Continuation bytes of a character are dropped, so that columns still count characters.
    private mutating func blank(_ count: Int) {
        for _ in 0..<count where position < input.count {
            let byte = input[position]
            if byte == UInt8(ascii: "\n") {
                output.append(byte)
            } else if byte & 0xC0 != 0x80 {
                output.append(UInt8(ascii: " "))
            }
            position += 1
        }
    }

    private mutating func blankBlockComment() {
        var depth = 0
        repeat {
            if starts(with: "/*"), depth == 0 || language == .swift {
                depth += 1
                blank(2)
            } else if starts(with: "*/") {
                depth -= 1
                blank(2)
            } else {
                blank(1)
            }
        } while depth > 0 && position < input.count
    }

    /// The number of `#` before the opening quote, if a string starts here.
    private func rawStringHashes() -> Int? {
        var hashes = 0
        while language == .swift, starts(with: "#", at: hashes) { hashes += 1 }
        return starts(with: "\"", at: hashes) ? hashes : nil
    }

    private mutating func blankString(hashes: Int) {
        keep(hashes)
        guard language == .swift, starts(with: "\"\"\"") else { return blankQuoted("\"", hashes) }
        keep(3)
        while position < input.count, !starts(with: "\"\"\"") {
            blank(hashes == 0 && starts(with: "\\") ? 2 : 1)
        }
        keep(3)
    }

    private mutating func blankQuoted(_ quote: String, _ hashes: Int = 0) {
        keep(1)
        while position < input.count, !starts(with: "\n") {
            if starts(with: quote), (0..<hashes).allSatisfy({ starts(with: "#", at: 1 + $0) }) {
                break
            }
            blank(hashes == 0 && starts(with: "\\") ? 2 : 1)
        }
        if !starts(with: "\n") { keep(1) }
    }
}
