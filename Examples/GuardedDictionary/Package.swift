// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "guarded-dictionary",
    dependencies: [.package(name: "latchkey", path: "../..")],
    targets: [
        .executableTarget(
            name: "GuardedDictionary",
            dependencies: [.product(name: "LatchkeyStrategies", package: "latchkey")],
            swiftSettings: [.swiftLanguageMode(.v6)]
        )
    ]
)
