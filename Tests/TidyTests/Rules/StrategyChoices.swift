import LatchkeyStrategies

extension Rule {
    /// A strategy of somebody else has no name that code knows, but it has traits.
    static let strategyChoices = Rule(
        "code decides by a strategy's traits, never by its name",
        files: PathSet { path in
            PathSet.swiftSources.contains(path)
                && !["Sources/library/LatchkeySync/", "Sources/library/LatchkeyStrategies/"]
                    .contains {
                        path.hasPrefix($0)
                    }
        },
        broken: [
            Tree(["Sources/A/A.swift": "let count = kind == .actor ? 1 : 8\n"]),
            Tree(["Sources/A/A.swift": "if service.strategy != .mutex { f() }\n"]),
            Tree(["Sources/A/A.swift": "let a = name == StrategyKind.mutex.rawValue\n"]),
            Tree(["Sources/A/A.swift": "        case .snapshot, .actor: 1\n"]),
        ],
        kept: [
            Tree(["Sources/A/A.swift": "let a = StrategyKind.standard, b = StrategyKind.allCases\n"]
            ),
            Tree(["Sources/A/A.swift": "if json.kind == .array, lock == .unlocked { f() }\n"]),
            Tree(["Sources/library/LatchkeySync/A.swift": "    case actor = \"actor\"\n"]),
        ]
    ) { file in
        file.code.enumerated().compactMap { index, line in
            names.first { decides(line, by: $0) }.map {
                (index + 1, "decides by the strategy's name: \($0)")
            }
        }
    }

    /// Of the cases.
    private static let names = StrategyKind.allCases.map { "\($0)" }

    private static func decides(_ line: String, by name: String) -> Bool {
        ["== .", "!= .", "case .", "StrategyKind."].contains { before in
            line.ranges(of: before + name).contains { range in
                let after = line[range.upperBound...].first ?? " "
                return !after.isLetter && !after.isNumber && after != "("
            }
        }
    }
}
