import Foundation

/// The files that a rule sees, by path from the top of the package.
struct Tree: Sendable {
    let files: [SourceFile]

    init(_ contents: KeyValuePairs<String, String>) {
        self.init(contents.map { ($0.key, $0.value) })
    }

    init(_ contents: [(path: String, text: String)]) {
        files = contents.map { SourceFile(path: $0.path, text: $0.text) }
    }

    private init(files: [SourceFile]) {
        self.files = files
    }

    func file(_ path: String) -> SourceFile? {
        files.first { $0.path == path }
    }

    func files(in paths: PathSet) -> [SourceFile] {
        files.filter { paths.contains($0.path) }
    }

    /// Whether `path` is a file, or a folder with a file in it.
    ///
    /// The empty path is the top.
    func has(_ path: String) -> Bool {
        files.contains { $0.path == path || path.isEmpty || $0.path.hasPrefix(path + "/") }
    }

    /// The version of the package, from the only file in which it stands.
    var version: Substring? {
        let opening = "package let latchkeyVersion = \""
        let line = file(Tree.versionPath)?.lines.first { $0.hasPrefix(opening) }
        return line?.dropFirst(opening.count).prefix { $0 != "\"" }
    }

    static let versionPath = "Sources/program/LatchkeyCommandLine/Version.swift"

    /// This package: the files that git tracks, and new files that are not ignored.
    static let ofThisPackage = Result { try readThisPackage() }

    /// The folder of `Package.swift`.
    static let top = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func readThisPackage() throws -> Tree {
        let git = Process()
        let output = Pipe()
        git.executableURL = URL(filePath: "/usr/bin/env")
        git.arguments = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        git.currentDirectoryURL = top
        git.standardOutput = output
        try git.run()
        let listing = try output.fileHandleForReading.readToEnd() ?? Data()
        git.waitUntilExit()
        guard git.terminationStatus == 0 else { throw GitFailed(status: git.terminationStatus) }

        let paths = String(decoding: listing, as: UTF8.self).split(separator: "\0").map(String.init)
        return Tree(
            files: paths.compactMap { path in
                // A file that was removed and not yet committed, or one that is not text.
                guard let data = try? Data(contentsOf: top.appending(path: path)),
                    let text = String(data: data, encoding: .utf8)
                else { return nil }
                return SourceFile(path: path, text: text)
            }
        )
    }
}

struct GitFailed: Error {
    let status: Int32
}
