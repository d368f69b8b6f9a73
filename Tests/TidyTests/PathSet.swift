/// The files that a rule is about.
struct PathSet: Sendable {
    let contains: @Sendable (String) -> Bool

    static let all = PathSet { _ in true }
    static let swiftSources = PathSet { $0.hasPrefix("Sources/") && isSwift($0) }
    static let cSources = PathSet { $0.hasPrefix("Sources/") && isC($0) }
    static let sources = PathSet { swiftSources.contains($0) || cSources.contains($0) }
    static let swiftTests = PathSet { $0.hasPrefix("Tests/") && isSwift($0) }
    static let markdown = PathSet { $0.hasSuffix(".md") }

    /// All source files: Swift, C, scripts.
    static let code = PathSet { isSwift($0) || isC($0) || isScript($0) }

    static func isSwift(_ path: String) -> Bool { path.hasSuffix(".swift") }
    static func isC(_ path: String) -> Bool { path.hasSuffix(".c") || path.hasSuffix(".h") }

    private static func isScript(_ path: String) -> Bool {
        path.hasPrefix("scripts/") || path.hasPrefix(".ci/") || path == "Makefile"
            || ["py", "sh", "lua", "js", "css"].contains(path.suffix(after: "."))
    }
}

extension SourceFile {
    /// The target that a file below `Sources` belongs to, in a house or in none.
    var target: String? {
        let parts = path.split(separator: "/")
        guard parts.count > 2, parts[0] == "Sources" else { return nil }
        return String(House(rawValue: String(parts[1])) == nil ? parts[1] : parts[2])
    }
}
