import LatchkeyClient
import LatchkeyService
import LatchkeySettings
import LatchkeyStrategies

/// A part of a file that is generated from the code by `make docs`, between two marking lines.
struct Generated: Sendable {
    let path: String
    /// The lines before and after the part, without indentation.
    let opening: String
    let closing: String
    let lines: @Sendable (Tree) -> [String]

    /// The file with the generated part; nil if the two lines are missing.
    func applied(to file: SourceFile, in tree: Tree) -> SourceFile? {
        guard let first = file.lines.firstIndex(where: { $0.hasSuffix(opening) }),
            let last = file.lines[first...].dropFirst().firstIndex(where: { $0.hasSuffix(closing) })
        else { return nil }
        let parts = [Array(file.lines[...first]), lines(tree), Array(file.lines[last...])]
        return SourceFile(path: path, text: parts.joined().joined(separator: "\n") + "\n")
    }

    private static let catalogue = "Sources/library/LatchkeySync/LatchkeySync.docc/"

    static let all: [Generated] = [
        Generated(path: "README.md", in: "strategies") { _ in
            [StrategyKind.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ") + "."]
        },
        Generated(path: "README.md", in: "verdict") { RecordedRun.lines($0, \.verdict) },
        Generated(path: "README.md", in: "which lock") { RecordedRun.lines($0, \.whichLock) },
        Generated(path: "docs/strategies.md", in: "figures") {
            RecordedRun.lines($0, \.everything)
        },
        Generated(path: catalogue + "WhichLock.md", in: "figures") {
            RecordedRun.lines($0, \.avoided)
        },
        Generated(path: catalogue + "MigratingFromQueues.md", in: "figures") {
            RecordedRun.lines($0, \.queue)
        },
        Generated(path: "docs/ARCHITECTURE.md", in: "houses") { House.table(in: $0) },
        Generated(path: "docs/settings.md", in: "settings") { _ in
            settingTable(ServiceConfiguration.settings)
        },
        Generated(path: "docs/settings.md", in: "limits") { _ in limitTable },
        Generated(path: "docs/client.md", in: "settings") { _ in
            settingTable(ClientSettings.settings)
        },
        Generated(path: "docs/strategies.md", in: "strategy traits") { _ in traitTable },
        Generated(path: "docs/strategies.md", in: "strategy pages") { tree in
            StrategyKind.allCases.flatMap { page(of: $0, in: tree) }
        },
        Generated(
            path: "openapi.yaml",
            opening: "# begin version: make docs",
            closing: "# end version"
        ) { tree in
            ["  version: \(tree.version ?? "")"]
        },
        Generated(
            path: "openapi.yaml",
            opening: "# begin strategy names: make docs",
            closing: "# end strategy names"
        ) { _ in
            StrategyKind.allCases.map { "        - \($0.rawValue)" }
        },
        Generated(
            path: "docs/schemas/comparison-report.schema.json",
            opening: "\"$comment\": \"The names are written by make docs.\", \"enum\": [",
            closing: "]"
        ) { _ in
            StrategyKind.allCases.map { kind in
                "        \"\(kind.rawValue)\"" + (kind == StrategyKind.allCases.last ? "" : ",")
            }
        },
    ]
}

extension Generated {
    /// A part of a Markdown file.
    private init(
        path: String,
        in name: String,
        lines: @escaping @Sendable (Tree) -> [String]
    ) {
        self.init(
            path: path,
            opening: "<!-- begin \(name): make docs -->",
            closing: "<!-- end \(name) -->",
            lines: lines
        )
    }

    private static var traitTable: [String] {
        let columns = StrategyTraits.columns
        let head = ["Strategy"] + columns.map(\.text)
        let rows = StrategyKind.allCases.map { kind in
            ["`\(kind.rawValue)`"] + columns.map { $0.value(kind.traits) ? "yes" : "" }
        }
        return ([head, head.map { _ in "---" }] + rows).map { cells in
            "| " + cells.joined(separator: " | ") + " |"
        }
    }

    private static func settingTable(_ settings: [Setting<some Configurable>]) -> [String] {
        ["| Flag | Default | Meaning |", "|---|---|---|"]
            + settings.map { setting in
                let value = shown(default: setting.defaultText)
                return "| `--\(setting.name)` | \(value) | \(setting.help.firstSentence) |"
            }
    }

    private static var limitTable: [String] {
        ["| Limit | Constant | Meaning |", "|---|---|---|"]
            + ServiceConfiguration.limits.map { limit in
                var value = shown(default: limit.defaultText)
                if case .integer(_, let unit) = limit.values, unit != .none {
                    value += " \(unit.name)"
                }
                return "| `\(limit.name)` | \(value) | \(limit.help.firstSentence) |"
            }
    }

    /// A value is code; "the number of cores" is not.
    private static func shown(default text: String) -> String {
        text.isEmpty || text.contains(" ") ? text : "`\(text)`"
    }

    /// The strategy's section: the comment that begins with its name.
    private static func page(of kind: StrategyKind, in tree: Tree) -> [String] {
        let lines = tree.files(in: .swiftSources).lazy.compactMap { file in
            file.lines.firstIndex { $0.hasPrefix("/// `\(kind.rawValue)`: ") }
                .map { file.lines[$0...] }
        }
        guard let comment = lines.first?.prefix(while: { $0.hasPrefix("///") }) else {
            return ["", "### \(kind.rawValue)", "", "No comment begins with its name."]
        }
        return ["", "### \(kind.rawValue)", ""]
            + comment.map { line in
                let text = String(line.dropFirst(4))
                return text.hasPrefix("```") ? text : text.replacing("``", with: "`")
            }
    }
}
