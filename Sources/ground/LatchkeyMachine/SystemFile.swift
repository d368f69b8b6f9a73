internal import Foundation

/// The kernel's small text files: the one reader of `/proc` and `/sys`.
package enum SystemFile {
    /// The file's text, or `nil` if it cannot be read.
    package static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The names in a folder; none if it cannot be read.
    package static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// The first line.
    package static func line(_ path: String) -> String? {
        text(path)?.split(separator: "\n").first.map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The value on the first line whose name is `name`.
    package static func field(_ name: String, _ separator: Character, in path: String) -> String? {
        for line in text(path)?.split(separator: "\n") ?? [] {
            let sides = line.split(separator: separator, maxSplits: 1)
            if sides.count == 2, sides[0].trimmingCharacters(in: .whitespaces) == name {
                return sides[1].trimmingCharacters(in: .whitespaces)
            }
        }
        return nil
    }
}
