import Foundation
import LatchkeyTestSupport
import Testing

/// `latchkey check-config`: it says what a start would, and changes nothing.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct CheckConfigTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func check(
        _ flags: [String],
        environment: [String: String] = [:],
        after shell: String? = nil
    ) async throws -> (status: Int32, output: String, errors: String) {
        let arguments = ["check-config", "--port", "0"] + flags
        return try await Program.result(of: arguments, environment: environment, after: shell)
    }

    /// All files of the folder, by path.
    private var contents: [String] {
        (FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String] ?? [])
            .sorted()
    }

    @Test func `a right configuration is OK, with the settings that are not the defaults`()
        async throws
    {
        let flags = [
            "--data", folder.path + "/data", "--audit-log", folder.path + "/audit",
            "--record", folder.path + "/record", "--drain-seconds", "2m",
            "--token-file", folder.path + "/tokens", "--first-token", folder.path + "/token",
        ]
        let variables = ["LATCHKEY_STRATEGY": "spin", "LATCHKEY_LIMITS": "max-exports=4"]
        let found = try await check(flags, environment: variables)
        #expect(found.status == 0 && found.errors.isEmpty, "\(found.errors)")
        let lines = found.output.split(separator: "\n")
        #expect(lines.first == "OK")
        #expect(lines.contains("  --strategy spin  (LATCHKEY_STRATEGY)"))
        #expect(lines.contains("  --drain-seconds 120"))
        #expect(lines.contains("  --data \(folder.path)/data"))
        #expect(lines.contains("  max-exports=4  (LATCHKEY_LIMITS)"))
        #expect(lines.count == 10, "\(found.output)")
        #expect(contents.isEmpty, "nothing is made")
        let standard = try await Program.result(of: ["check-config", "--running"])
        #expect(standard.output == "OK, with all defaults\n" && standard.status == 0)
    }

    @Test func `all faults are said at once`() async throws {
        try folder.write("tokens", "no line of a token\n")
        try folder.write("certificate.pem", "none")
        try folder.write("key.pem", "none")
        try folder.write("record", "")
        try folder.write("file", "")
        let found = try await check(
            [
                "--stripes", "3", "--unknown", "1", "--max-bytes", "much", "--rate-burst", "2",
                "--token-file", folder.path + "/tokens", "--audit-log", folder.path + "/no/audit",
                "--tls-certificate", folder.path + "/certificate.pem",
                "--tls-key", folder.path + "/key.pem", "--record", folder.path + "/record",
                "--data", folder.path + "/file", "--peer-ca", "ca",
            ],
            environment: [
                "LATCHKEY_DRAIN_SECONDS": "soon", "LATCHKEY_LIMITS": "max-exports=0",
                "LATCHKEY_MAX_EXPORTS": "4",
            ]
        )
        #expect(found.status == 2 && found.output.isEmpty)
        for part in [
            "--stripes takes a power of two", "unknown flag '--unknown'", "--max-bytes takes",
            "--rate-burst was removed in 0.2: ", "LATCHKEY_DRAIN_SECONDS takes",
            "tokens: ", "certificate.pem: ", "/no/audit", "/record' cannot be made", "is no folder",
            "--peer-ca has no meaning", "LATCHKEY_MAX_EXPORTS was removed in 0.2: ",
            "LATCHKEY_LIMITS sets max-exports, which takes",
        ] {
            #expect(found.errors.contains(part), "\(part)")
        }
        #expect(found.errors.split(separator: "\n").count == 13, "\(found.errors)")
        #expect(contents == ["certificate.pem", "file", "key.pem", "record", "tokens"])
        try folder.write("der", "no PEM")
        for (file, reason) in [("der", "PEM"), ("none", "cannot be read")] {
            let path = folder.path + "/" + file
            let peers = try await check(["--follow", "http://127.0.0.1:1", "--peer-ca", path])
            #expect(peers.status == 2 && peers.errors.contains("--peer-ca: \(path)"), "\(file)")
            #expect(peers.errors.contains(reason), "\(peers.errors)")
        }
    }

    @Test func `each fault is one of the start, too`() async throws {
        let data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        try folder.write("data/latchkey.db", String(repeating: "x", count: 4096))
        for flags in [
            ["--data", data], ["--data", folder.path + "/no/data"],
            ["--token-file", folder.path + "/none"], ["--audit-log", folder.path],
            ["--host", "192.0.2.1", "--insecure"], ["--tls-client-ca", folder.path + "/ca"],
            ["--tls-certificate", folder.path + "/none"], ["--record", folder.path + "/no/record"],
        ] {
            let found = try await check(flags)
            #expect(found.status == 2 && !found.errors.isEmpty, "\(flags): \(found.errors)")
            let started = try await Program.result(of: ["serve", "--port", "0"] + flags)
            #expect(started.status == 1, "\(flags): \(started.errors)")
        }
        let limited = try await check([], after: "ulimit -n 100")
        #expect(limited.status == 2 && limited.errors.contains("ulimit -Hn"))
    }

    @Test func `a running service is no fault, if that is said`() async throws {
        let data = folder.path + "/data"
        let program = try Program(["serve", "--port", "0", "--data", data])
        let port = try await offPool { try program.awaitPort() }
        let flags = ["--port", "\(port)", "--data", data]
        let faults = try await Program.result(of: ["check-config"] + flags)
        #expect(faults.status == 2)
        #expect(faults.errors.contains("Another process uses the data folder"))
        #expect(faults.errors.contains("127.0.0.1:\(port) cannot be listened on"))
        let found = try await Program.result(of: ["check-config", "--running"] + flags)
        #expect(found.status == 0, "\(found.errors)")
        // It is still served, and nothing was changed.
        try await offPool {
            let written = try Site(port: port).ask("PUT", "/v1/properties/a", "1")
            #expect(written.status == 201)
            #expect(program.end() == 0)
        }
        let files = contents
        let free = try await Program.result(of: ["check-config"] + flags)
        #expect(free.status == 0, "\(free.errors)")
        #expect(contents == files)
    }

    @Test func `a setting that is allowed and perhaps not meant is a note`() async throws {
        let found = try await check(
            ["--quota", "a=2GiB", "--max-watchers", "2000", "--max-bytes", "1000"],
            environment: ["LATCHKEY_STRATEGIE": "spin"]
        )
        #expect(found.status == 0 && found.output.hasPrefix("OK\n"))
        let notes = found.errors.split(separator: "\n")
        #expect(notes.count == 4 && notes.allSatisfy { $0.hasPrefix("note: ") }, "\(notes)")
        let twice = try await Program.result(
            of: ["check-config", "--running", "--port", "9099", "--admin-port", "9099"]
        )
        #expect(twice.status == 2)
        #expect(twice.errors == "latchkey: --admin-port and --port must be two ports.\n")
    }
}
