/// A target that `Package.swift` declares.
struct DeclaredTarget {
    let name: String
    let line: Int
    /// The folder of its files.
    var folder: String
    var dependencies: [(name: String, line: Int)] = []

    func dependsOn(_ module: String) -> Bool {
        dependencies.contains { $0.name == module }
    }

    func contains(_ file: SourceFile) -> Bool {
        file.path.hasPrefix(folder + "/")
    }

    /// By target the house that it stands in, with its place there from top to bottom.
    static func houses(in tree: Tree) -> [String: (house: String, place: Int)] {
        var found: [String: (house: String, place: Int)] = [:]
        var house: String?
        let lines = tree.file("Package.swift")?.lines ?? []
        for line in lines.drop(while: { $0 != "let houses = [" }).prefix(while: { $0 != "]" }) {
            let quoted = quoted(in: line)
            if line.hasSuffix("[") {
                house = quoted.first
            } else if let house {
                for name in quoted { found[name] = (house, found.count) }
            }
        }
        return found
    }

    private static func quoted(in line: some StringProtocol) -> [String] {
        line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    /// All targets, read from the layout that the formatter gives `Package.swift`.
    static func all(in tree: Tree) -> [DeclaredTarget] {
        let houses = houses(in: tree)
        var targets: [DeclaredTarget] = []
        var awaitsName = false
        var isInside = false
        for (index, line) in (tree.file("Package.swift")?.lines ?? []).enumerated() {
            var quoted = quoted(in: line)
            if line.contains("arget(") || line.contains(".systemLibrary(") { awaitsName = true }
            if awaitsName, line.contains("name: \""), !quoted.isEmpty {
                let name = quoted.removeFirst()
                let house = houses[name].map { $0.house + "/" } ?? ""
                let folder = (name.hasSuffix("Tests") ? "Tests/" : "Sources/" + house) + name
                targets.append(DeclaredTarget(name: name, line: index + 1, folder: folder))
                awaitsName = false
            }
            guard let last = targets.indices.last else { continue }
            if line.contains("path: \""), let path = quoted.popLast() {
                targets[last].folder = path
            }
            if line.contains("dependencies: [") { isInside = true }
            if isInside {
                targets[last].dependencies += quoted.map { ($0, index + 1) }
                isInside = !line.contains("]")
            }
        }
        return targets
    }
}
