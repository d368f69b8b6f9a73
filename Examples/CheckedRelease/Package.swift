// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "checked-release",
    dependencies: [
        .package(name: "latchkey", path: "../..", traits: ["LATCHKEY_CHECKED"])
    ],
    targets: [
        .executableTarget(
            name: "CheckedRelease",
            dependencies: [.product(name: "LatchkeySync", package: "latchkey")],
            swiftSettings: [.swiftLanguageMode(.v6)]
        )
    ]
)
