// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "own-lock",
    dependencies: [.package(name: "latchkey", path: "../..")],
    targets: [
        .executableTarget(
            name: "OwnLock",
            dependencies: [
                .product(name: "LatchkeyStrategies", package: "latchkey"),
                .product(name: "LatchkeySyncTesting", package: "latchkey"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        )
    ]
)
