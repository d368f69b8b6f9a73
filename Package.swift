// swift-tools-version: 6.2
import PackageDescription

// Length: SwiftPM reads one file, and each target stands here.

/// Settings of every Swift target.
///
/// `docs/ARCHITECTURE.md` lists the targets from top to bottom; tidy tests check that each one has
/// a row there, below all that use it, and imports only what is declared here.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
]

/// Settings of every C target: `-Wall -Wextra`.
let warnings: [CSetting] = [.enableWarning("all"), .enableWarning("extra")]

/// In our own builds a warning is an error.
///
/// Makefile and Dockerfile say so. A consumer's build must not stop at the warnings of another
/// compiler; besides, Swift refuses `-warnings-as-errors` with a consumer's `-suppress-warnings`.
let isStrict = Context.environment["LATCHKEY_STRICT"] != nil

/// The minute and the commit of a build, for `latchkey --version`.
///
/// Makefile and Dockerfile say it: `scripts/version build` prints it.
let build = Context.environment["LATCHKEY_BUILD"] ?? ""

/// The houses, which are the folders of `Sources`, and their targets from top to bottom.
let houses = [
    "program": [
        "latchkey", "LatchkeyLab", "LatchkeyCommandLine", "CLatchkeyBuild", "CLatchkeyLocales",
        "CLatchkeyStart",
    ],
    "replicas": [
        "LatchkeyReplicas", "LatchkeyReplication", "CLatchkeyRPC",
    ],
    "service": [
        "LatchkeyService", "LatchkeyWatches", "LatchkeyAccess", "LatchkeyFrame",
        "LatchkeyOperations", "LatchkeyPersistence", "LatchkeyStore", "LatchkeyHTTP",
        "CLatchkeyHTTP",
    ],
    "lab": [
        "LatchkeyReport", "LatchkeyComparison",
    ],
    "library": [
        "LatchkeyGuards", "LatchkeyMetering", "LatchkeyContention", "LatchkeyMetrics",
        "LatchkeyStrategies", "LatchkeySyncTesting", "LatchkeySync",
    ],
    "ground": [
        "LatchkeyClient", "LatchkeyMachine", "LatchkeyJSON", "LatchkeyTrace", "LatchkeySettings",
        "LatchkeyVerdict", "LatchkeyProtobuf", "CLatchkeyFetch", "CLatchkeyPages",
        "CLatchkeyMachine", "CLatchkeySystem", "CMicrohttpd", "CSQLite", "CGnuTLS", "CCurl",
        "CNghttp2", "CZlib",
    ],
]

let package = Package(
    name: "latchkey",
    // Tested on Linux only. These systems have the module Synchronization, without which no lock
    // here can be built. What needs a later one says so with @available.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "LatchkeySync", targets: ["LatchkeySync"]),
        .library(name: "LatchkeyStrategies", targets: ["LatchkeyStrategies"]),
        .library(name: "LatchkeyMetering", targets: ["LatchkeyMetering"]),
        .library(name: "LatchkeyLab", targets: ["LatchkeyLab"]),
        .library(name: "LatchkeySyncTesting", targets: ["LatchkeySyncTesting"]),
        .executable(name: "latchkey", targets: ["latchkey"]),
    ],
    // A trait's name is the compilation condition that it sets.
    traits: [
        .trait(
            name: "LATCHKEY_CHECKED",
            description: "Entering a value again stops with a sentence in release builds too."
        )
    ],
    targets: [
        // Without pkgConfig, which would ask all who depend on LatchkeySync to install these: they
        // lie in the system's own paths. A module map links for Swift only, C targets themselves.
        .systemLibrary(name: "CMicrohttpd"),
        .systemLibrary(name: "CCurl"),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CZlib"),
        .systemLibrary(name: "CGnuTLS"),
        .systemLibrary(name: "CNghttp2"),
        .target(name: "CLatchkeySystem"),
        .target(name: "CLatchkeyMachine"),
        // For the program only: its first code.
        .target(name: "CLatchkeyStart"),
        // For the program only: it has no locales then.
        .target(name: "CLatchkeyLocales"),
        .target(
            name: "CLatchkeyBuild",
            cSettings: build.isEmpty ? [] : [.define("LATCHKEY_BUILD", to: "\"\(build)\"")]
        ),
        // Its sources take in the other files.
        .target(
            name: "CLatchkeyPages",
            exclude: ["Dashboard", "openapi.yaml", "report.html"]
        ),
        .target(name: "LatchkeyJSON", dependencies: ["CLatchkeySystem"]),
        .target(name: "LatchkeyProtobuf"),
        .target(name: "LatchkeySettings"),
        .target(name: "LatchkeyTrace"),
        .target(name: "LatchkeyVerdict"),
        .target(
            name: "CLatchkeyHTTP",
            dependencies: ["CGnuTLS", "CMicrohttpd"],
            cSettings: [.headerSearchPath(".")],
            linkerSettings: [.linkedLibrary("microhttpd"), .linkedLibrary("gnutls")]
        ),
        .target(name: "LatchkeySync", dependencies: ["CLatchkeySystem"]),
        .target(name: "LatchkeyStrategies", dependencies: ["LatchkeySync"]),
        .target(name: "LatchkeySyncTesting", dependencies: ["LatchkeySync"]),
        .target(name: "LatchkeyMachine", dependencies: ["CLatchkeyMachine", "CLatchkeySystem"]),
        .target(name: "LatchkeyMetrics", dependencies: ["CLatchkeySystem"]),
        .target(
            name: "LatchkeyContention",
            dependencies: [
                "CLatchkeySystem", "LatchkeyMetrics", "LatchkeyProtobuf", "LatchkeySync",
            ]
        ),
        .target(name: "LatchkeyMetering", dependencies: ["LatchkeyContention", "LatchkeySync"]),
        .target(
            name: "LatchkeyGuards",
            dependencies: [
                "CLatchkeySystem", "LatchkeyContention", "LatchkeyStrategies", "LatchkeySync",
            ]
        ),
        .target(
            name: "LatchkeyStore",
            dependencies: [
                "CLatchkeySystem", "LatchkeyGuards", "LatchkeyJSON", "LatchkeySettings",
                "LatchkeyStrategies", "LatchkeySync",
            ]
        ),
        .target(
            name: "LatchkeyPersistence",
            dependencies: [
                "CLatchkeySystem", "CSQLite", "CZlib", "LatchkeyMachine", "LatchkeyMetrics",
                "LatchkeySettings", "LatchkeyStore", "LatchkeySync",
            ]
        ),
        .target(
            name: "CLatchkeyRPC",
            dependencies: ["CGnuTLS", "CNghttp2"],
            linkerSettings: [.linkedLibrary("nghttp2"), .linkedLibrary("gnutls")]
        ),
        .target(
            name: "LatchkeyReplication",
            dependencies: ["CLatchkeyRPC", "LatchkeyProtobuf", "LatchkeyStore", "LatchkeySync"]
        ),
        .target(
            name: "CLatchkeyFetch",
            dependencies: ["CCurl"],
            linkerSettings: [.linkedLibrary("curl")]
        ),
        .target(
            name: "LatchkeyOperations",
            dependencies: [
                "CLatchkeyFetch", "LatchkeyJSON", "LatchkeySettings", "LatchkeyStore",
                "LatchkeySync",
            ]
        ),
        .target(
            name: "LatchkeyClient",
            dependencies: [
                "CLatchkeyFetch", "LatchkeyJSON", "LatchkeyMachine", "LatchkeySettings",
            ]
        ),
        .target(
            name: "LatchkeyHTTP",
            dependencies: ["CLatchkeyHTTP", "CLatchkeySystem", "LatchkeySettings"]
        ),
        .target(
            name: "LatchkeyComparison",
            dependencies: [
                "CLatchkeyMachine", "CLatchkeySystem", "LatchkeyContention", "LatchkeyMachine",
                "LatchkeyMetrics", "LatchkeySettings", "LatchkeyStrategies", "LatchkeySyncTesting",
                "LatchkeyTrace", "LatchkeyVerdict",
            ]
        ),
        .target(
            name: "LatchkeyReport",
            dependencies: [
                "CLatchkeyPages", "LatchkeyComparison", "LatchkeyMachine", "LatchkeyStrategies",
                "LatchkeyVerdict",
            ]
        ),
        .target(
            name: "LatchkeyFrame",
            dependencies: [
                "CGnuTLS", "CLatchkeySystem", "LatchkeyGuards", "LatchkeyHTTP", "LatchkeyJSON",
                "LatchkeyMetrics", "LatchkeySettings", "LatchkeyStore", "LatchkeyStrategies",
            ]
        ),
        .target(
            name: "LatchkeyAccess",
            dependencies: [
                "CLatchkeySystem", "LatchkeyFrame", "LatchkeyHTTP", "LatchkeyJSON",
                "LatchkeyMachine", "LatchkeyMetrics", "LatchkeySettings", "LatchkeyStore",
                "LatchkeyStrategies",
            ]
        ),
        .target(
            name: "LatchkeyWatches",
            dependencies: [
                "CLatchkeySystem", "LatchkeyFrame", "LatchkeyGuards", "LatchkeyHTTP",
                "LatchkeyJSON", "LatchkeyMachine", "LatchkeyMetrics", "LatchkeySettings",
                "LatchkeyStore", "LatchkeyStrategies",
            ]
        ),
        .target(
            name: "LatchkeyReplicas",
            dependencies: [
                "LatchkeyAccess", "LatchkeyClient", "LatchkeyFrame", "LatchkeyGuards",
                "LatchkeyHTTP", "LatchkeyJSON", "LatchkeyMachine", "LatchkeyMetrics",
                "LatchkeyPersistence", "LatchkeyReplication", "LatchkeySettings", "LatchkeyStore",
                "LatchkeyStrategies", "LatchkeyWatches",
            ]
        ),
        .target(
            name: "LatchkeyService",
            dependencies: [
                "CGnuTLS", "CLatchkeyPages", "CLatchkeySystem", "LatchkeyAccess",
                "LatchkeyContention", "LatchkeyFrame", "LatchkeyGuards", "LatchkeyHTTP",
                "LatchkeyJSON", "LatchkeyMachine", "LatchkeyMetrics", "LatchkeyOperations",
                "LatchkeyPersistence", "LatchkeyReplicas", "LatchkeyReplication",
                "LatchkeySettings", "LatchkeyStore", "LatchkeyStrategies", "LatchkeyTrace",
                "LatchkeyWatches",
            ]
        ),
        .target(
            name: "LatchkeyCommandLine",
            dependencies: [
                "CLatchkeyBuild", "LatchkeyComparison", "LatchkeyMachine", "LatchkeyReport",
                "LatchkeySettings", "LatchkeyTrace",
            ]
        ),
        .target(
            name: "LatchkeyLab",
            dependencies: [
                "LatchkeyCommandLine", "LatchkeyComparison", "LatchkeyStrategies",
            ]
        ),
        .executableTarget(
            name: "latchkey",
            dependencies: [
                "CLatchkeyLocales", "CLatchkeyStart", "LatchkeyAccess", "LatchkeyClient",
                "LatchkeyCommandLine", "LatchkeyComparison", "LatchkeyContention",
                "LatchkeyMachine", "LatchkeyOperations", "LatchkeyPersistence", "LatchkeyReplicas",
                "LatchkeyReport", "LatchkeyService", "LatchkeySettings", "LatchkeyStore",
                "LatchkeyStrategies", "LatchkeyVerdict",
            ]
        ),
        .executableTarget(
            name: "LatchkeySyncBenchmark",
            dependencies: ["LatchkeyComparison", "LatchkeyContention", "LatchkeyStrategies"],
            path: "Benchmarks/SyncBenchmark"
        ),
        .executableTarget(
            name: "LatchkeyPlanted",
            dependencies: ["LatchkeyLab"],
            path: "Benchmarks/Planted"
        ),
        .target(
            name: "LatchkeyTestSupport",
            dependencies: ["CGnuTLS", "LatchkeyStrategies", "LatchkeySyncTesting"],
            path: "Tests/LatchkeyTestSupport"
        ),
        .testTarget(
            name: "LatchkeySyncTests",
            dependencies: [
                "CLatchkeySystem", "LatchkeyStrategies", "LatchkeySync", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyMetricsTests",
            dependencies: ["CLatchkeySystem", "LatchkeyMetrics"]
        ),
        .testTarget(
            name: "LatchkeyContentionTests",
            dependencies: [
                "CLatchkeySystem", "LatchkeyContention", "LatchkeyMetrics", "LatchkeyStrategies",
                "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyMeteringTests",
            dependencies: ["LatchkeyMetering", "LatchkeyStrategies", "LatchkeyTestSupport"]
        ),
        .testTarget(
            name: "LatchkeyGuardsTests",
            dependencies: [
                "LatchkeyContention", "LatchkeyGuards", "LatchkeyStrategies", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyJSONTests",
            dependencies: ["LatchkeyJSON", "LatchkeyTestSupport"]
        ),
        .testTarget(
            name: "LatchkeyStoreTests",
            dependencies: [
                "LatchkeyGuards", "LatchkeyJSON", "LatchkeyStore", "LatchkeyStrategies",
                "LatchkeySync", "LatchkeyTestSupport",
            ]
        ),
        // A file system for SQLite whose calls fail when a test says so.
        .target(
            name: "CLatchkeyFaults",
            dependencies: ["CSQLite"],
            path: "Tests/CLatchkeyFaults",
            linkerSettings: [.linkedLibrary("sqlite3")]
        ),
        .testTarget(
            name: "LatchkeyPersistenceTests",
            dependencies: [
                "CLatchkeyFaults", "CSQLite", "LatchkeyMetrics", "LatchkeyPersistence",
                "LatchkeyStore", "LatchkeySync", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyReplicationTests",
            dependencies: [
                "LatchkeyGuards", "LatchkeyJSON", "LatchkeyProtobuf", "LatchkeyReplication",
                "LatchkeyStore", "LatchkeyStrategies", "LatchkeySync", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyOperationsTests",
            dependencies: [
                "LatchkeyGuards", "LatchkeyJSON", "LatchkeyOperations", "LatchkeyStore",
                "LatchkeyStrategies", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyHTTPTests",
            dependencies: ["LatchkeyHTTP", "LatchkeySettings", "LatchkeyTestSupport"]
        ),
        .testTarget(
            name: "LatchkeyServiceTests",
            dependencies: [
                "CLatchkeyPages", "LatchkeyAccess", "LatchkeyComparison", "LatchkeyContention",
                "LatchkeyFrame", "LatchkeyGuards", "LatchkeyHTTP", "LatchkeyJSON",
                "LatchkeyMachine", "LatchkeyMetrics", "LatchkeyOperations", "LatchkeyPersistence",
                "LatchkeyReplicas", "LatchkeyReplication", "LatchkeyService", "LatchkeySettings",
                "LatchkeyStore", "LatchkeyStrategies", "LatchkeyTestSupport", "LatchkeyWatches",
            ]
        ),
        .testTarget(
            name: "LatchkeyClientTests",
            dependencies: [
                "LatchkeyClient", "LatchkeyCommandLine", "LatchkeySettings",
                "LatchkeyTestSupport", "latchkey",
            ]
        ),
        .testTarget(name: "LatchkeyTraceTests", dependencies: ["LatchkeyTrace"]),
        .testTarget(
            name: "LatchkeyVerdictTests",
            dependencies: ["LatchkeyTestSupport", "LatchkeyVerdict"]
        ),
        .testTarget(
            name: "LatchkeyMachineTests",
            dependencies: ["LatchkeyMachine", "LatchkeyTestSupport"]
        ),
        .testTarget(
            name: "LatchkeyComparisonTests",
            dependencies: [
                "CLatchkeySystem", "LatchkeyComparison", "LatchkeyContention", "LatchkeyMachine",
                "LatchkeyReport", "LatchkeyStrategies", "LatchkeySyncTesting",
                "LatchkeyTestSupport", "LatchkeyTrace",
            ]
        ),
        .testTarget(
            name: "LatchkeyLabTests",
            dependencies: [
                "LatchkeyCommandLine", "LatchkeyComparison", "LatchkeyLab", "LatchkeyReport",
                "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyReportTests",
            dependencies: [
                "LatchkeyComparison", "LatchkeyReport", "LatchkeyStrategies", "LatchkeyTestSupport",
                "LatchkeyVerdict",
            ],
            // Read from the sources, as the schema is.
            exclude: ["Recorded"]
        ),
        // The command line, without starting it.
        .testTarget(
            name: "LatchkeyProgramTests",
            dependencies: [
                "LatchkeyCommandLine", "LatchkeyComparison", "LatchkeyService", "LatchkeySettings",
                "LatchkeyStrategies", "latchkey",
            ]
        ),
        // The service over loopback, in the process of the tests.
        .testTarget(
            name: "LatchkeyWireTests",
            dependencies: [
                "LatchkeyAccess", "LatchkeyClient", "LatchkeyCommandLine", "LatchkeyComparison",
                "LatchkeyFrame", "LatchkeyService", "LatchkeySettings", "LatchkeyStrategies",
                "LatchkeyTestSupport", "latchkey",
            ]
        ),
        // The documents are compared with the strategies and the settings themselves.
        .testTarget(
            name: "TidyTests",
            dependencies: [
                "LatchkeyClient", "LatchkeyComparison", "LatchkeyReport", "LatchkeyService",
                "LatchkeySettings", "LatchkeyStrategies", "LatchkeyVerdict",
            ]
        ),
    ]
)

// Tests that start the program: `make process` sets the variable. Others are built without them.
if Context.environment["LATCHKEY_PROCESS_TESTS"] != nil {
    package.targets.append(
        .testTarget(
            name: "LatchkeyProcessTests",
            dependencies: [
                "LatchkeyAccess", "LatchkeyCommandLine", "LatchkeyComparison", "LatchkeyReport",
                "LatchkeyService", "LatchkeySettings", "LatchkeyStrategies", "LatchkeySyncTesting",
                "LatchkeyTestSupport", "LatchkeyTrace", "latchkey",
            ],
            path: "Tests/process"
        )
    )
}

// `Tests/tsan.sh` builds only the tests that it runs.
if let names = Context.environment["LATCHKEY_TEST_TARGETS"] {
    let wanted = Set(names.split(separator: " ").map(String.init))
    precondition(wanted.isSubset(of: package.targets.map(\.name)), "\(names): not all are here")
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}

for target in package.targets {
    if let house = houses.first(where: { $0.value.contains(target.name) }) {
        target.path = "Sources/\(house.key)/\(target.name)"
    }
}

for target in package.targets where target.type != .system {
    if target.name.hasPrefix("C") {
        let strict: [CSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []
        target.cSettings = (target.cSettings ?? []) + warnings + strict
    } else {
        let strict: [SwiftSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []
        target.swiftSettings = (target.swiftSettings ?? []) + settings + strict
    }
}
