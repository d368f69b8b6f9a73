import Foundation
import Testing

@testable import LatchkeyMetrics

@Suite(.timeLimit(.minutes(15))) struct Promtool {
    static let path = ["/usr/bin/promtool", "/usr/local/bin/promtool"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.enabled(if: path != nil, "promtool is not installed"))
    func `finds nothing to say about the text format`() throws {
        let registry = Exposition.registry()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(Self.path))
        process.arguments = ["check", "metrics"]
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(registry.text(.text)))
        try input.fileHandleForWriting.close()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(String(decoding: said, as: UTF8.self) == "")
        #expect(process.terminationStatus == 0)
    }
}
