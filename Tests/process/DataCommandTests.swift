import Foundation
import LatchkeyTestSupport
import Testing

/// `latchkey check`, `recover`, `backup` and `restore`: their messages and their status.
@Suite(.timeLimit(.minutes(15)))
struct DataCommandTests {
    /// A data folder that a service has made, and actions on it.
    private struct DataFolder {
        let folder: TemporaryFolder
        /// When the last of the changes was made, as the service says it.
        private(set) var time = Date.distantPast
        var data: String { folder.path + "data" }
        var database: String { data + "/latchkey.db" }

        /// With two properties, of three changes.
        init() throws {
            folder = try TemporaryFolder()
            var changes = ""
            try serve { site in
                for (name, value) in [("a", "1"), ("b", #""something to find""#), ("a", "2")] {
                    let status = try site.ask("PUT", "/v1/properties/\(name)", value).status
                    #expect(status == 201 || status == 204)
                }
                changes = try site.ask("GET", "/v1/changes").text
            }
            let text = try #require(changes.matches(of: /"time":"([^"]+)"/).last).1
            time = try Date(
                String(text),
                strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            )
        }

        func serve(_ use: (Site) throws -> Void) throws {
            let program = try Program(
                ["serve", "--port", "0", "--log-level", "warning", "--data", data]
            )
            try use(Site(port: try program.awaitPort()))
            #expect(program.end() == 0)
        }

        /// Changes one letter of the value of `b`.
        func damage() throws {
            let url = URL(fileURLWithPath: database)
            var bytes = try Data(contentsOf: url)
            let place = try #require(bytes.range(of: Data("something to find".utf8)))
            bytes[place.lowerBound] ^= 1
            try bytes.write(to: url)
        }

        func run(_ arguments: String...) throws -> (status: Int32, output: String, errors: String) {
            try Program(arguments).finish()
        }
    }

    @Test func `a time that is damaged is refused`() async throws {
        try await offPool {
            let folder = try DataFolder()
            let url = URL(fileURLWithPath: folder.database)
            var bytes = try Data(contentsOf: url)
            // A time has six bytes, of which the first three change every four hours.
            let now = UInt64(folder.time.timeIntervalSince1970 * 1000) >> 24
            let head = Data([now >> 16, now >> 8, now].map { UInt8(truncatingIfNeeded: $0) })
            let place = try #require(bytes.range(of: head))
            bytes[place.lowerBound] ^= 0x40
            try bytes.write(to: url)
            let service = try folder.run("serve", "--port", "0", "--data", folder.data)
            #expect(service.status == 1)
            #expect(service.errors.contains("of the table changes is not what was written"))
        }
    }

    @Test func `check counts what is there`() async throws {
        try await offPool {
            let folder = try DataFolder()
            let result = try folder.run("check", folder.data)
            #expect(result.status == 0 && result.errors.isEmpty)
            let expected = /2 properties, 3 changes, revision \d+, \d+ bytes\n/
            #expect(result.output.wholeMatch(of: expected) != nil, "\(result.output)")
        }
    }

    @Test func `damage is named, refused and recovered from`() async throws {
        try await offPool {
            let folder = try DataFolder()
            try folder.damage()
            let finding = "is damaged: row 2 of the table changes is not what was written."
            let advice = "'latchkey recover \(folder.data) --accept-loss'"
            let check = try folder.run("check", folder.data)
            #expect(check.status == 1)
            #expect(check.output.contains("'\(folder.database)' \(finding)"), "\(check.output)")
            #expect(check.output.contains("Commits up to revision"))
            #expect(check.output.contains(advice))

            // The service does not start, and says the same.
            let service = try folder.run("serve", "--port", "0", "--data", folder.data)
            #expect(service.status == 1)
            #expect(service.errors.contains(finding) && service.errors.contains(advice))

            let asked = try folder.run("recover", folder.data)
            #expect(asked.status == 1)
            #expect(asked.output.contains("are lost"), "\(asked.output)")
            #expect(asked.output.hasSuffix("Nothing was changed. Try \(advice).\n"))
            #expect(try folder.run("check", folder.data).output == check.output)

            let done = try folder.run("recover", folder.data, "--accept-loss")
            #expect(done.status == 0)
            #expect(done.output.contains("The folder can be used again.\n"), "\(done.output)")
            let kept = try #require(done.output.firstMatch(of: /The damaged files are in (.+)\.\n/))
            #expect(FileManager.default.fileExists(atPath: String(kept.1)))
            try folder.serve { (site: Site) throws in
                #expect(try site.ask("GET", "/v1/properties/a").text == "1")
                #expect(try site.ask("GET", "/v1/properties/b").status == 404)
            }
            let again = try folder.run("recover", folder.data)
            #expect(again.status == 0 && again.output.hasPrefix("Nothing is lost.\n"))
        }
    }

    @Test func `a backup of a running service is restored with later revisions`() async throws {
        try await offPool {
            let folder = try DataFolder()
            let (backup, other) = (folder.folder.path + "backup", folder.folder.path + "other")
            var last: UInt64 = 0
            try folder.serve { (site: Site) throws in
                let put = try site.ask("PUT", "/v1/properties/c", "3")
                last = try #require(put.revision)
                let made = try folder.run("backup", folder.data, backup)
                #expect(made.status == 0)
                #expect(made.output.hasPrefix("Backup made and checked: \(backup)\n"))
                #expect(made.output.contains("revision \(last), "), "\(made.output)")
                // A file that exists is not replaced.
                let again = try folder.run("backup", folder.data, backup)
                #expect(again.status == 2 && again.errors.contains("'\(backup)'"))
                // The service has the folder for itself.
                let check = try folder.run("check", folder.data)
                #expect(check.status == 2)
                #expect(check.errors.contains("Another process uses the data folder"))
            }
            let restored = try folder.run("restore", backup, other)
            #expect(restored.status == 0)
            #expect(restored.output.hasPrefix("Restored: \(other)\n3 properties, 0 changes, "))
            let occupied = try folder.run("restore", backup, folder.data)
            #expect(occupied.status == 2 && occupied.errors.contains("'\(folder.data)'"))
            try FileManager.default.removeItem(atPath: folder.data)
            try FileManager.default.moveItem(atPath: other, toPath: folder.data)
            try folder.serve { (site: Site) throws in
                #expect(try site.ask("GET", "/v1/properties/a").text == "2")
                let put = try site.ask("PUT", "/v1/properties/a", "4")
                #expect(try #require(put.revision) > last + (1 << 32))
            }
        }
    }

    /// The file-size limit ends the process in the middle of the copy (setrlimit(2)): by a signal,
    /// or by an error where a parent has the signal ignored.
    @Test func `a backup that is killed leaves nothing under its name`() async throws {
        try await offPool {
            let folder = try DataFolder()
            let value = "\"" + String(repeating: "x", count: 400_000) + "\""
            try folder.serve { (site: Site) throws in
                #expect(try site.ask("PUT", "/v1/properties/long", value).status == 201)
            }
            let file = folder.folder.path + "backup"
            let killed = try Program(["backup", folder.data, file], after: "ulimit -f 200").finish()
            #expect(killed.status != 0)
            #expect(!FileManager.default.fileExists(atPath: file))
            let made = try folder.run("backup", folder.data, file)
            #expect(made.status == 0 && made.output.contains("No service uses the folder"))
            let restored = try folder.run("restore", file, folder.folder.path + "other")
            #expect(restored.status == 0)
            #expect(restored.output.contains("The answers of idempotency keys are not kept"))
        }
    }

    @Test(arguments: [
        ["check"], ["check", "a", "b"], ["recover"], ["backup", "a"], ["restore", "a"],
        ["recover", "a", "--accept"],
    ])
    func `a wrong command line says what is missing`(arguments: [String]) async throws {
        let result = try await Program.result(of: arguments)
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.errors.contains("latchkey \(arguments[0])"), "\(result.errors)")
    }

    @Test(arguments: [
        ["check", "missing"], ["recover", "missing"], ["backup", "missing", "b"],
        ["restore", "missing", "d"],
    ])
    func `a missing file is named and not made`(arguments: [String]) async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            let paths = arguments.dropFirst().map { folder.path + $0 }
            let result = try Program([arguments[0]] + paths).finish()
            #expect(result.status == 2 && result.output.isEmpty)
            #expect(result.errors.contains("\(folder.path)missing"), "\(result.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }
}
