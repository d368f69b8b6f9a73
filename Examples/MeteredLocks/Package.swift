// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "metered-locks",
    dependencies: [.package(name: "latchkey", path: "../..")],
    targets: [
        .executableTarget(
            name: "MeteredLocks",
            dependencies: [.product(name: "LatchkeyMetering", package: "latchkey")]
        )
    ]
)
