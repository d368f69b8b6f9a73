// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "cache-lab",
    dependencies: [.package(name: "latchkey", path: "../..")],
    targets: [
        .executableTarget(
            name: "CacheLab",
            dependencies: [.product(name: "LatchkeyLab", package: "latchkey")],
            swiftSettings: [.swiftLanguageMode(.v6)]
        )
    ]
)
