import Foundation
import LatchkeyService
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

/// The file of `--audit-log`, under the program: rotation, floods, and restarts.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct AuditFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var path: String { folder.path + "/audit.log" }
    private var flags: [String] { ["serve", "--port", "0", "--audit-log", path] }

    private static func texts(_ path: String) throws -> [Substring] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.isEmpty || text.hasSuffix("\n"))
        return text.split(separator: "\n")
    }

    private static func fail() { Issue.record("a writer was not answered") }

    private static func isEmpty(_ path: String) throws -> Bool {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 0
    }

    @Test func `rotation under writes loses no line and doubles none`() async throws {
        let program = try Program(flags)
        let path = path
        let (revisions, files) = try await offPool {
            let site = Site(port: try program.awaitPort())
            let isOver = Atomic(false)
            let revisions = Guarded<[Int]>([])
            let threads = (0..<2).map { number in
                TestThread {
                    guard let client = try? site.client() else { return Self.fail() }
                    while !isOver.load(ordering: .relaxed) {
                        let target = "/v1/properties/\(number)"
                        guard let answer = try? client.request("PUT", target, body: [0x31]),
                            let tag = answer.headers["etag"]?.dropFirst().dropLast()
                        else { return Self.fail() }
                        revisions.write { $0.append(Int(tag) ?? 0) }
                    }
                }
            }
            var files = [path]
            for number in 1...5 {
                let count = revisions.read { $0.count }
                // A line is written later than its answer.
                while try revisions.read({ $0.count }) < count + 20 || Self.isEmpty(path) {
                    Yield.now()
                }
                files.append("\(path).\(number)")
                try FileManager.default.moveItem(atPath: path, toPath: "\(path).\(number)")
                program.signal(SIGHUP)
                try program.awaitErrors(containing: "audit log opened")
            }
            isOver.store(true, ordering: .relaxed)
            for thread in threads { thread.join() }
            return (revisions.read { $0 }, files)
        }
        let ended = try await offPool { program.endAndFinish() }
        #expect(ended.status == 0)
        let lines = try files.flatMap { try Self.texts($0) }
        let written = lines.compactMap { $0.firstMatch(of: /"revision":(\d+)/) }
        #expect(written.compactMap { Int($0.1) }.sorted() == revisions.sorted())
        for file in files.dropFirst() { #expect(try !Self.texts(file).isEmpty) }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func `a full disk refuses no write, and the stop is not held up`() async throws {
        let program = try Program(["serve", "--port", "0", "--audit-log", "/dev/full"])
        try await offPool {
            let client = try Site(port: program.awaitPort()).client()
            for _ in 0..<100 {
                let answer = try client.request("PUT", "/v1/properties/a", body: [0x31])
                #expect(answer.status / 100 == 2)
            }
        }
        let ended = try await offPool { program.endAndFinish() }
        #expect(ended.status == 0)
        #expect(ended.errors.contains("audit log not written"))
        #expect(ended.errors.contains("audit log not complete"))
    }
}
