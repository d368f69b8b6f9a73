// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "sizes",
    dependencies: [.package(name: "latchkey", path: "../..")],
    targets: [
        .executableTarget(
            name: "WithAdaptive",
            dependencies: [.product(name: "LatchkeySync", package: "latchkey")],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .executableTarget(name: "WithMutex", swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
