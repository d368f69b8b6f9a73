// swift-tools-version: 6.2
import PackageDescription

/// Settings of every Swift target.
///
/// `docs/ARCHITECTURE.md` draws the targets and their arrows,
/// and a tidy test checks that no `import` goes against them.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// Settings of every C target: `-Wall -Wextra -Werror`.
let warnings: [CSetting] = [
    .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
]

let package = Package(
    name: "latchkey",
    products: [
        .library(name: "LatchkeySync", targets: ["LatchkeySync"]),
        .library(name: "LatchkeySyncTesting", targets: ["LatchkeySyncTesting"]),
        .executable(name: "latchkey", targets: ["latchkey"]),
    ],
    targets: [
        .systemLibrary(
            name: "CMicrohttpd",
            pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]
        ),
        .systemLibrary(name: "CYajl", pkgConfig: "yajl", providers: [.apt(["libyajl-dev"])]),
        .systemLibrary(
            name: "CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .target(name: "CLatchkeySystem"),
        .target(name: "CLatchkeyMachine"),
        .target(name: "LatchkeySettings"),
        .target(name: "CLatchkeyHTTP", dependencies: ["CMicrohttpd"]),
        .target(name: "LatchkeySync", dependencies: ["CLatchkeySystem"]),
        .target(name: "LatchkeySyncTesting", dependencies: ["LatchkeySync"]),
        .target(name: "LatchkeyMachine", dependencies: ["CLatchkeyMachine", "CLatchkeySystem"]),
        .target(name: "LatchkeyMetrics", dependencies: ["CLatchkeySystem", "LatchkeyMachine"]),
        .target(
            name: "LatchkeyContention",
            dependencies: [
                "CLatchkeySystem", "LatchkeyMachine", "LatchkeyMetrics", "LatchkeySync",
            ]
        ),
        .target(
            name: "LatchkeyStore",
            dependencies: ["CLatchkeySystem", "CYajl", "LatchkeySettings", "LatchkeySync"]
        ),
        .target(name: "CLatchkeyFetch", dependencies: ["CCurl"]),
        .target(
            name: "LatchkeyOperations",
            dependencies: ["CLatchkeyFetch", "LatchkeySettings", "LatchkeyStore", "LatchkeySync"]
        ),
        .target(name: "LatchkeyHTTP", dependencies: ["CLatchkeyHTTP", "LatchkeySettings"]),
        .target(
            name: "LatchkeyComparison",
            dependencies: [
                "CLatchkeyMachine", "CLatchkeySystem", "LatchkeyContention", "LatchkeyMachine",
                "LatchkeyMetrics", "LatchkeySettings", "LatchkeySync",
            ]
        ),
        .target(
            name: "LatchkeyReport",
            dependencies: ["LatchkeyComparison", "LatchkeyMachine", "LatchkeySync"],
            // The page is one file, script and style sheet included.
            resources: [.embedInCode("page.html")]
        ),
        .target(
            name: "LatchkeyService",
            dependencies: [
                "CLatchkeySystem", "LatchkeyContention", "LatchkeyHTTP", "LatchkeyMachine",
                "LatchkeyMetrics", "LatchkeyOperations", "LatchkeySettings", "LatchkeyStore",
                "LatchkeySync",
            ],
            // The contract and the dashboard are served from the program itself. The contract is a
            // link to the file at the root.
            resources: [.embedInCode("openapi.yaml"), .embedInCode("Dashboard")]
        ),
        .executableTarget(
            name: "latchkey",
            dependencies: [
                "LatchkeyComparison", "LatchkeyContention", "LatchkeyOperations", "LatchkeyReport",
                "LatchkeyService", "LatchkeySettings", "LatchkeySync",
            ]
        ),
        .executableTarget(
            name: "LatchkeySyncBenchmark",
            dependencies: ["LatchkeyComparison", "LatchkeyContention", "LatchkeySync"],
            path: "Benchmarks/SyncBenchmark"
        ),
        .target(
            name: "LatchkeyTestSupport",
            dependencies: ["LatchkeySync", "LatchkeySyncTesting"],
            path: "Tests/LatchkeyTestSupport"
        ),
        .testTarget(
            name: "LatchkeySyncTests",
            dependencies: ["CLatchkeySystem", "LatchkeySync", "LatchkeyTestSupport"]
        ),
        .testTarget(
            name: "LatchkeyMetricsTests",
            dependencies: ["CLatchkeySystem", "LatchkeyMetrics"]
        ),
        .testTarget(
            name: "LatchkeyContentionTests",
            dependencies: [
                "CLatchkeySystem", "LatchkeyContention", "LatchkeyMachine", "LatchkeyMetrics",
                "LatchkeySync", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyStoreTests",
            dependencies: ["LatchkeyStore", "LatchkeySync", "LatchkeyTestSupport"]
        ),
        .testTarget(
            name: "LatchkeyOperationsTests",
            dependencies: [
                "LatchkeyOperations", "LatchkeyStore", "LatchkeySync", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyHTTPTests",
            dependencies: ["LatchkeyHTTP", "LatchkeyTestSupport"]
        ),
        .testTarget(
            name: "LatchkeyServiceTests",
            dependencies: [
                "LatchkeyComparison", "LatchkeyHTTP", "LatchkeyMetrics", "LatchkeyService",
                "LatchkeyStore", "LatchkeySync", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyMachineTests",
            dependencies: ["LatchkeyMachine", "LatchkeyTestSupport"]
        ),
        .testTarget(
            name: "LatchkeyComparisonTests",
            dependencies: [
                "LatchkeyComparison", "LatchkeyContention", "LatchkeyMachine", "LatchkeyReport",
                "LatchkeySync", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyReportTests",
            dependencies: [
                "LatchkeyComparison", "LatchkeyReport", "LatchkeySync", "LatchkeyTestSupport",
            ]
        ),
        .testTarget(
            name: "LatchkeyIntegrationTests",
            dependencies: [
                "LatchkeyComparison", "LatchkeyReport", "LatchkeyService", "LatchkeySettings",
                "LatchkeySync", "LatchkeyTestSupport", "latchkey",
            ]
        ),
        // The documents are compared with the strategies and the settings themselves.
        .testTarget(
            name: "TidyTests",
            dependencies: ["LatchkeyService", "LatchkeySettings", "LatchkeySync"]
        ),
    ]
)

for target in package.targets where target.type != .system {
    if target.name.hasPrefix("C") {
        target.cSettings = (target.cSettings ?? []) + warnings
    } else {
        target.swiftSettings = (target.swiftSettings ?? []) + settings
    }
}
