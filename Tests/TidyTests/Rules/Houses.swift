/// The houses that the targets stand in, from top to bottom: `Package.swift` says which ones.
///
/// The table in `docs/ARCHITECTURE.md` is made from these and from `Package.swift`.
enum House: String, CaseIterable {
    case program, replicas, service, lab, library, ground

    /// The houses whose targets may be used.
    private var below: [House] {
        switch self {
        case .program: [.program, .replicas, .service, .lab, .library, .ground]
        case .replicas: [.replicas, .service, .library, .ground]
        case .service: [.service, .library, .ground]
        case .lab: [.lab, .library, .ground]
        case .library: [.library, .ground]
        case .ground: [.ground]
        }
    }

    /// Uses that go up.
    ///
    /// A row that is not needed any more is found.
    private static let exceptions = [
        "LatchkeyService": ["LatchkeyReplicas", "LatchkeyReplication"]
    ]

    /// The faults in a target's place.
    static func faults(of target: DeclaredTarget, in tree: Tree) -> [String] {
        let houses = DeclaredTarget.houses(in: tree)
        func of(_ name: String) -> House? {
            houses[name].flatMap { House(rawValue: $0.house) }
        }
        guard let house = of(target.name) else { return ["\(target.name) stands in no house"] }
        let up = target.dependencies.map(\.name).filter { used in
            of(used).map { !house.below.contains($0) } ?? false
        }
        let allowed = exceptions[target.name, default: []]
        return up.filter { !allowed.contains($0) }.map {
            "\(target.name) of \(house) may not use \($0)"
        } + allowed.filter { !up.contains($0) }.map { "\(target.name) does not use \($0) any more" }
    }

    /// A row for each target: its house, its name, and what it uses.
    ///
    /// The targets of a house that use nothing share a row.
    static func table(in tree: Tree) -> [String] {
        let places = DeclaredTarget.houses(in: tree)
        let rows = allCases.flatMap { house in
            let here = DeclaredTarget.all(in: tree).filter {
                places[$0.name]?.house == house.rawValue
            }.sorted { places[$0.name]?.place ?? 0 < places[$1.name]?.place ?? 0 }
            let lowest = here.filter(\.dependencies.isEmpty).map { "`\($0.name)`" }
            let users = here.filter { !$0.dependencies.isEmpty }.map { target in
                let used = target.dependencies.map(\.name).joined(separator: ", ")
                return "| \(house) | `\(target.name)` | \(used) |"
            }
            let last = "| \(house) | \(lowest.joined(separator: ", ")) | |"
            return users + (lowest.isEmpty ? [] : [last])
        }
        return ["| House | Target | Uses |", "|---|---|---|"] + rows
    }
}

extension Rule {
    static let houses = Rule(
        "each target stands in a house, and uses only what may be below it",
        broken: [
            Tree(["Package.swift": ".target(name: \"LatchkeyNew\"),\n"]),
            Tree([
                "Package.swift": """
                let houses = [
                    "service": [
                        "LatchkeyStore",
                    ],
                    "library": [
                        "LatchkeySync",
                    ],
                ]
                .target(name: "LatchkeySync", dependencies: ["LatchkeyStore"]),
                .target(name: "LatchkeyStore"),

                """
            ]),
            Tree([
                "Package.swift": """
                let houses = [
                    "service": [
                        "LatchkeyService",
                    ],
                ]
                .target(name: "LatchkeyService"),

                """
            ]),
        ],
        kept: [
            Tree([
                "Package.swift": """
                let houses = [
                    "replicas": [
                        "LatchkeyReplication",
                    ],
                    "service": [
                        "LatchkeyStore", "LatchkeyService",
                    ],
                    "library": [
                        "LatchkeySync",
                    ],
                ]
                .target(name: "LatchkeyReplication", dependencies: ["LatchkeyStore"]),
                .target(name: "LatchkeyStore", dependencies: ["LatchkeySync"]),
                .testTarget(name: "LatchkeySyncTests", dependencies: ["LatchkeyStore"]),

                """
            ])
        ]
    ) { tree in
        let targets = DeclaredTarget.all(in: tree).filter { $0.folder.hasPrefix("Sources/") }
        return targets.flatMap { target in
            House.faults(of: target, in: tree).map {
                Finding(path: "Package.swift", line: target.line, message: $0)
            }
        }
    }
}
