import Foundation
import LatchkeyTestSupport
import Testing

/// The output of the client's commands for programs, and how signals end them.
@Suite(.timeLimit(.minutes(15)))
struct ClientCommandTests {
    @Test func `several values are read at once`() async throws {
        try await ClientWay.plain.serve { rig in
            _ = try rig.output("put", "a", "[1,\n2]")
            _ = try rig.output("put", "long name", "2")
            #expect(try rig.output("get", "long name", "a") == "long name  2\na          [1, 2]\n")
            let objects = """
                {"name":"a","revision":1,"created":1,"value":[1, 2]}
                {"name":"long name","revision":2,"created":2,"value":2}

                """
            #expect(try rig.output("get", "a", "long name", "--json") == objects)
            let missing = try rig.run("get", "a", "none", "long name")
            #expect(missing.status == 3)
            #expect(missing.output == "a          [1, 2]\nlong name  2\n")
            #expect(missing.errors.contains("'none'"))
            #expect(try rig.run("get", "a", "none", "--string").status == 2)
            // More than one request.
            let names = (0..<128).map { "n\($0)/" + String(repeating: "x", count: 200) }
            for name in names[120...] { _ = try rig.output("put", name, "1") }
            let some = try rig.start(["get"] + names + ["--json"]).finish()
            #expect(some.status == 3)
            #expect(some.output.split(separator: "\n").count == 8)
        }
    }

    @Test func `commands have the names of other programs, too`() async throws {
        try await ClientWay.plain.serve { rig in
            #expect(try rig.output("set", "a", "1") == "")
            #expect(try rig.output("ls") == "a  1\n")
            #expect(try rig.output("del", "a") == "")
            #expect(try rig.output("count") == "0\n")
            let help = try rig.output("list", "--help")
            #expect(try rig.output("help", "ls") == help)
        }
    }

    @Test func `a watch runs a command for each change, one after the other`() async throws {
        try await ClientWay.plain.serve { rig in
            for name in ["jobs/1/state", "jobs/1/other", "jobs/2/state"] {
                _ = try rig.output("put", name, "1")
            }
            let words = ["watch", "--match", "jobs/*/state", "--after", "0", "--no-values"]
            let command = ["--count", "2", "--exec", "cat; echo ended; exit 3"]
            let found = try rig.start(words + command).finish()
            #expect(found.status == 0)
            let ids = [1, 3].map { id in
                let name = #""name":"jobs/\#((id + 1) / 2)/state""#
                let revisions = #""revision":\#(id),"created":\#(id)"#
                return #"{"event":"put","id":"\#(id)",\#(name),\#(revisions)}"# + "\nended\n"
            }
            #expect(found.output == ids.joined())
            #expect(found.errors.contains("ended with status 3"))
            let one = ["watch", "jobs/1/state", "--after", "0", "--count", "1"]
            let killed = try rig.start(one + ["--exec", "kill -9 $$"]).finish()
            #expect(killed.errors.contains("signal 9"))
            // A command that reads nothing.
            #expect(try rig.start(one + ["--exec", "true"]).finish().output == "")
        }
    }

    @Test func `all that is printed can be JSON`() async throws {
        try await ClientWay.plain.serve { rig in
            let written = #"{"name":"a","revision":1}"# + "\n"
            #expect(try rig.output("put", "a", "1", "--json") == written)
            #expect(try rig.output("touch", "a", "--ttl", "60", "--json") == written)
            #expect(try rig.output("delete", "a", "--json") == "{\"count\":1}\n")
            _ = try rig.output("put", "x", #"{"holder":"me"}"#)
            let who = try rig.output("elect", "x", "--who", "--json")
            #expect(who == #"{"name":"x","holder":"me"}"# + "\n")
            let transaction = #"{"then":[{"get":"x"}]}"#
            #expect(try rig.output("txn", transaction, "--json").hasPrefix(#"{"succeeded":true"#))
            #expect(try rig.output("export", "--json").hasPrefix(#"{"name":"x","#))
            let top = Data(try rig.output("top", "--json").utf8)
            let figures = try JSONSerialization.jsonObject(with: top) as? [String: Any]
            #expect(figures?["properties"] as? Double == 1)
            #expect((figures?["strategies"] as? [Any])?.count == 1)
        }
    }

    @Test func `a client shows its certificate`() async throws {
        let authority = TestCertificate("authority", isAuthority: true)
        let mine = TestCertificate("me", isForClients: true, signedBy: authority)
        let folder = try TemporaryFolder()
        try folder.write("authority.pem", authority.certificate)
        try folder.write("mine.pem", mine.certificate)
        try folder.write("mine.key", mine.key)
        try folder.write("both.pem", mine.certificate + mine.key)
        let flags = ["--tls-client-ca", folder.path + "/authority.pem"]
        try await ClientWay.secured.serve(flags) { rig in
            var environment = rig.environment
            environment["LATCHKEY_TOKEN"] = nil
            let paths = ["LATCHKEY_CERT": "mine.pem", "LATCHKEY_KEY": "mine.key"]
                .mapValues { folder.path + "/" + $0 }
            for (command, files, status) in [
                (["put", "a", "1"], paths, 0),
                (["get", "a", "--cert", folder.path + "/both.pem"], [:], 0),
                (["get", "a"], [:], 5), (["get", "a", "--key", "/none"], [:], 2),
                (["get", "a", "--cert", "/none"], [:], 2),
            ] as [([String], [String: String], Int32)] {
                let variables = environment.merging(files) { $1 }
                let result = try Program(command, environment: variables).finish()
                #expect(result.status == status, "\(command): \(result.errors)")
            }
        }
    }

    /// Its answer may be on its way: the job that it has got is not lost.
    @Test(arguments: [[], ["--claim", "claims/", "--ttl", "60"]])
    func `a pop that is ended by a signal takes nothing`(claim: [String]) async throws {
        try await ClientWay.plain.serve { rig in
            for _ in 0..<5 {
                let waiting = try rig.start(["pop", "jobs/", "--wait", "60"] + claim)
                try Site(port: rig.port).awaitMetric("latchkey_watchers", 1)
                waiting.signal(SIGINT)
                _ = try rig.output("put", "jobs/1", "7")
                let result = waiting.finish()
                if result.status == 0 {
                    // The job came first.
                    #expect(result.output.hasPrefix("jobs/1"))
                } else {
                    #expect(result.status == SIGINT)
                    #expect(result.output.isEmpty)
                    #expect(try rig.output("get", "jobs/1") == "7\n")
                }
                #expect(try rig.output("count", "claims/") == "0\n")
                _ = try rig.run("delete", "jobs/1")
            }
        }
    }

    @Test func `an export that is ended by a signal leaves no part`() async throws {
        try await ClientWay.plain.serve { rig in
            let files = FileManager.default
            // It waits for the service, and its part is there.
            rig.service.signal(SIGSTOP)
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                let export = try rig.start(["export", "-o", rig.folder.path + "/all"])
                try eventually("a part") {
                    try files.contentsOfDirectory(atPath: rig.folder.path).contains {
                        $0.hasSuffix(".part")
                    }
                }
                export.signal(signal)
                #expect(export.wait() == signal)
                let left = try files.contentsOfDirectory(atPath: rig.folder.path)
                #expect(left.isEmpty)
            }
            rig.service.signal(SIGCONT)
        }
    }

    @Test func `an import names the line that it did not get past`() async throws {
        try await ClientWay.plain.serve { rig in
            let text = #"{"name":"a","value":1}"# + "\n" + #"{"name":"b","val"#
            let cut = try rig.run("import", "--partial", input: text)
            #expect(cut.status == 1)
            #expect(cut.errors.contains("line 2"), "\(cut.errors)")
            let half = try rig.run("import", input: #"{"name":"a","value":1}"# + "\n")
            #expect(half.status == 1)
            #expect(half.errors.contains("line 2"), "\(half.errors)")
        }
    }

    @Test func `an unreachable service is reported at once, with the outcome`() async throws {
        try await ClientWay.plain.serve { rig in
            let secure = "https://localhost:\(rig.port)"
            let patience = ["--patience-seconds", "60"]
            for (url, reason) in [("http://nowhere.invalid", "resolve"), (secure, "SSL")] {
                let result = try rig.start(["put", "a", "1", "--url", url] + patience).finish()
                #expect(result.status == 1)
                #expect(result.errors.contains(reason), "\(result.errors)")
                #expect(result.errors.contains("Nothing was changed."))
            }
            rig.service.signal(SIGSTOP)
            let flags = ["--timeout-seconds", "0.2", "--patience-seconds", "0.5"]
            let unknown = try rig.start(["increment", "n"] + flags).finish()
            #expect(unknown.status == 6)
            #expect(unknown.errors.contains("may have been made"))
            let lock = ["lock", "a", "--wait", "0.2", "--timeout-seconds", "1", "--", "true"]
            #expect(try rig.start(lock).finish().status == 125)
            rig.service.signal(SIGCONT)
            // As the message says.
            let words = unknown.errors.split(separator: " ")
            let key = try #require(words.first { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
            #expect(try rig.output("increment", "n", "--idempotency-key", String(key)) == "1\n")
        }
    }
}
