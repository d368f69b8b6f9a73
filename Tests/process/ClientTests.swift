import Foundation
import LatchkeyTestSupport
import Testing

/// The commands that are clients, against a real service.
@Suite(.timeLimit(.minutes(15)))
struct ClientTests {
    @Test(arguments: ClientWay.allCases)
    func `values are written, read, changed and removed`(way: ClientWay) async throws {
        try await way.serve { rig in
            #expect(try rig.output("put", "a/b ü", #"{"max": 50}"#) == "")
            #expect(try rig.output("get", "a/b ü") == "{\"max\": 50}\n")
            #expect(
                try rig.output("get", "a/b ü", "--json")
                    == #"{"name":"a/b ü","revision":1,"created":1,"value":{"max": 50}}"# + "\n"
            )
            #expect(try rig.output("merge", "a/b ü", #"{"min":1}"#) == "{\"max\": 50,\"min\":1}\n")
            #expect(try rig.output("put", "text", "-", "--string", input: "say \"hi\"\n") == "")
            #expect(try rig.output("get", "text") == "\"say \\\"hi\\\"\"\n")
            #expect(try rig.output("get", "text", "--string") == "say \"hi\"\n")
            #expect(try rig.output("increment", "n") == "1\n")
            #expect(try rig.output("increment", "n", "-5") == "-4\n")
            let put = try rig.output("put", "n", "-", "--json", input: " 7 \n")
            #expect(put == "{\"name\":\"n\",\"revision\":6}\n")
            #expect(try rig.output("get", "n") == "7\n")
            let table = """
                a/b ü  {"max": 50,"min":1}
                n      7
                text   "say \\"hi\\""

                """
            #expect(try rig.output("list") == table)
            #expect(try rig.output("list", "a/", "--names") == "a/b ü\n")
            #expect(try rig.output("delete", "n", "--if-revision", "6") == "")
            #expect(try rig.run("get", "n").status == 3)
            let mortal = try rig.output("increment", "soon", "--ttl", "1h", "--json")
            #expect(mortal.contains(#""ttl":3"#) || mortal.contains(#""ttl":3600"#))
        }
    }

    @Test func `each kind of failure has its status and a sentence`() async throws {
        try await ClientWay.plain.serve { rig in
            _ = try rig.output("put", "a", "1")
            let cases: [(arguments: [String], status: Int32, sentence: String)] = [
                (["get", "missing"], 3, "There is no property `missing`."),
                (["delete", "missing"], 3, "There is no property `missing`."),
                (["put", "a", "2", "--if-absent"], 4, "conditions"),
                (["put", "a", "2", "--if-revision", "99"], 4, "conditions"),
                (["txn", #"{"if":[{"name":"a","exists":false}],"then":[]}"#], 4, "condition"),
                (["increment", "list", "1", "--if-revision", "5"], 4, "conditions"),
                (["put", "a", "text"], 2, "is not JSON"),
                (["put", "a"], 2, "needs a value"),
                (["get"], 2, "needs a name"),
                (
                    ["get", "a", "--url", "http://127.0.0.1:1", "--patience-seconds", "0"], 1,
                    "no connection"
                ),
                (["get", "a", "--url", "nowhere/at/all"], 2, "--url takes"),
                (["get", "a", "--token-from", "/none"], 2, "cannot be read"),
                (["import", "/none"], 2, "cannot be read"),
                (["get", String(repeating: "a", count: 257)], 1, "name"),
            ]
            for (arguments, status, sentence) in cases {
                let result = try rig.start(arguments).finish()
                #expect(result.status == status, "\(arguments): \(result.errors)")
                #expect(result.errors.contains(sentence), "\(arguments): \(result.errors)")
            }
            #expect(try rig.output("get", "a") == "1\n")
        }
    }

    @Test func `a request that a token does not allow is refused`() async throws {
        try await ClientWay.secured.serve(rights: ["read,write:mine/"]) { rig in
            #expect(try rig.output("put", "mine/a", "1") == "")
            #expect(try rig.run("put", "yours", "1").status == 5)
            #expect(try rig.run("get", "mine/a", "--token", "wrong").status == 5)
            try rig.folder.write("token", (rig.environment["LATCHKEY_TOKEN"] ?? "") + "\n")
            let file = ["--token-from", rig.folder.path + "/token"]
            #expect(try rig.start(["get", "mine/a"] + file).finish().status == 0)
            // A certificate that is not trusted.
            let untrusted = try rig.run("get", "mine/a", "--ca", "none")
            #expect(untrusted.status == 1)
            #expect(untrusted.errors.contains("certificate"), "\(untrusted.errors)")
        }
    }

    @Test(arguments: ClientWay.allCases)
    func `a transaction is read from anywhere, and says what it did`(way: ClientWay) async throws {
        try await way.serve { rig in
            let text = #"{"if":[{"name":"a","exists":false}],"then":[{"increment":"a"}]}"#
            let first = try rig.output("txn", text, "--idempotency-key", "k")
            #expect(first.contains(#""succeeded":true"#))
            #expect(try rig.output("txn", text, "--idempotency-key", "k") == first)
            let second = try rig.run("txn", input: text)
            #expect(second.status == 4)
            #expect(second.output.contains(#""succeeded":false"#))
        }
    }

    @Test(arguments: ClientWay.allCases)
    func `prefixes are counted, removed and taken from`(way: ClientWay) async throws {
        try await way.serve { rig in
            for number in 1...3 { _ = try rig.output("put", "jobs/\(number)", "\"do \(number)\"") }
            #expect(try rig.output("count", "jobs/") == "3\n")
            #expect(try rig.output("pop", "jobs/") == "jobs/1  \"do 1\"\n")
            let claim = ["pop", "jobs/", "--claim", "claims/", "--ttl", "60", "--json"]
            let taken = try rig.start(claim).finish()
            #expect(taken.output.hasPrefix(#"{"name":"jobs/2","revision":2,"#), "\(taken.errors)")
            #expect(try rig.start(claim).finish().output.contains("jobs/3"))
            #expect(try rig.start(claim).finish().status == 3)
            #expect(try rig.output("list", "claims/", "--names") == "claims/2\nclaims/3\n")
            #expect(try rig.output("delete", "--prefix", "claims/") == "2\n")
            #expect(try rig.output("delete", "--prefix", "claims/", "--json") == "{\"count\":0}\n")
            #expect(try rig.run("delete", "jobs/2", "--prefix", "jobs/").status == 2)
            #expect(try rig.output("count") == "2\n")
        }
    }

    @Test(arguments: ClientWay.allCases)
    func `a time to live starts again, or only for a new property`(way: ClientWay) async throws {
        try await way.serve { rig in
            #expect(try rig.run("touch", "a", "--ttl", "60").status == 3)
            _ = try rig.output("put", "a", "1", "--ttl", "60")
            #expect(try rig.output("touch", "a", "--ttl", "1h", "--if-revision", "1") == "")
            #expect(try rig.output("increment", "a", "--ttl-if-new", "60") == "2\n")
            let object = try rig.output("get", "a", "--json")
            #expect(object.contains(#""ttl":3"#), "\(object)")
            #expect(try rig.run("touch", "a", "--ttl", "60", "--if-revision", "1").status == 4)
        }
    }

    @Test func `a transaction waits until its conditions hold`() async throws {
        try await ClientWay.plain.serve { rig in
            let text = #"{"if":[{"name":"a",">":1}],"then":[{"delete":"a"}]}"#
            #expect(try rig.run("txn", text, "--wait", "0.1").status == 4)
            let waiting = try rig.start(["txn", text, "--wait", "60"])
            try Site(port: rig.port).awaitMetric("latchkey_watchers", 1)
            _ = try rig.output("put", "a", "2")
            let result = waiting.finish()
            #expect(result.status == 0)
            #expect(result.output.contains(#""succeeded":true"#))
        }
    }

    @Test func `a watch that is refused ends, and says why`() async throws {
        try await ClientWay.plain.serve { rig in
            let prefixes = (0..<17).flatMap { ["--prefix", "p\($0)/"] }
            let result = try rig.start(["watch"] + prefixes).finish()
            #expect(result.status == 1)
            #expect(result.errors.contains("prefix"), "\(result.errors)")
            #expect(try rig.run("pop", "a/", "--wait", "61").status == 2)
        }
    }

    @Test func `names that are steps of a path are names`() async throws {
        try await ClientWay.plain.serve { rig in
            for name in [".", "..", "../..", "a/../b", "%2e%2e"] {
                _ = try rig.output("put", name, name, "--string")
                #expect(try rig.output("get", name, "--string") == "\(name)\n")
            }
            #expect(try rig.output("count") == "5\n")
        }
    }

    @Test func `an export goes where a link points, and to what is no file`() async throws {
        try await ClientWay.plain.serve { rig in
            _ = try rig.output("put", "a", "1")
            let (link, target) = (rig.folder.path + "/link", rig.folder.path + "/target")
            try FileManager.default.createSymbolicLink(
                atPath: link,
                withDestinationPath: target
            )
            try rig.folder.write("target", "old")
            #expect(try rig.output("export", "-o", link) == "")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
            let text = try String(contentsOfFile: target, encoding: .utf8)
            #expect(text.hasPrefix(#"{"name":"a","#), "\(text)")
            #expect(try rig.output("export", "-o", "/dev/stdout") == text)
        }
    }

    @Test(arguments: ClientWay.allCases)
    func `an export is imported elsewhere`(way: ClientWay) async throws {
        try await way.serve { rig in
            let lines = (0..<1500).map { #"{"name":"a/\#($0)","value":[\#($0)]}"# + "\n" }
            let text = lines.joined()
            #expect(try rig.output("import", "--partial", input: text) == "1500\n")
            let file = rig.folder.path + "/export"
            #expect(try rig.output("export", "-o", file) == "")
            let exported = try String(contentsOfFile: file, encoding: .utf8)
            #expect(exported == (try rig.output("export")))
            #expect(exported.split(separator: "\n").count == 1501)
            // All pages, of which there are two.
            #expect(try rig.output("list", "--json").split(separator: "\n").count == 1500)
            _ = try rig.output("put", "a/7", "0")
            #expect(try rig.output("import", file) == "1500\n")
            #expect(try rig.output("get", "a/7") == "[7]\n")
            // Without its last line it is not whole.
            try rig.folder.write("cut", String(exported.dropLast(10)))
            let cut = try rig.run("import", rig.folder.path + "/cut")
            #expect(cut.status == 1)
            #expect(cut.errors.contains("imported") || cut.errors.contains("line"), "\(cut.errors)")
            // No part of the file is left where it cannot be written.
            let failed = try rig.run("export", "-o", rig.folder.path + "/none/export")
            #expect(failed.status == 2)
        }
    }

    @Test(arguments: ClientWay.allCases)
    func `a watch prints changes, and ends after so many`(way: ClientWay) async throws {
        try await way.serve { rig in
            _ = try rig.output("put", "a", "1")
            let watch = try rig.start(["watch", "--initial", "--count", "4"])
            try watch.awaitOutput("ready 1")
            _ = try rig.output("put", "a", "\"two\"")
            _ = try rig.output("put", "b c", "[1,\n2]")
            _ = try rig.output("delete", "a")
            let result = watch.finish()
            #expect(result.status == 0)
            #expect(result.output == "put a \"two\"\nput b c [1, 2]\ndelete a\n")
            let later = try rig.output("watch", "b c", "--after", "1", "--count", "1", "--json")
            #expect(later.hasPrefix(#"{"event":"put","id":"3","name":"b c","revision":3"#))
        }
    }

    @Test func `a watch says that a service has lost its history`() async throws {
        let first = try Program(["serve", "--port", "0"])
        try await offPool {
            let port = try first.awaitPort()
            let environment = ["LATCHKEY_URL": "http://127.0.0.1:\(port)"]
            let watch = try Program(["watch", "--json"], environment: environment)
            try Site(port: port).awaitMetric("latchkey_watchers", 1)
            #expect(try Site(port: port).ask("PUT", "/v1/properties/a", "1").status == 201)
            try watch.awaitOutput(#"{"event":"put""#)
            #expect(first.end() == 0)
            let second = try Program(["serve", "--port", "\(port)"])
            _ = try second.awaitPort()
            try watch.awaitOutput(#"{"event":"gap""#)
            _ = watch.end()
            #expect(second.end() == 0)
        }
    }

    @Test func `a watch goes on after its service was killed, without loss`() async throws {
        let data = try TemporaryFolder()
        let flags = ["serve", "--data", data.path + "/data", "--port"]
        let program = try Program(flags + ["0"])
        try await offPool {
            let port = try program.awaitPort()
            let environment = ["LATCHKEY_URL": "http://127.0.0.1:\(port)"]
            let rig = ClientRig(
                service: program,
                port: port,
                environment: environment,
                folder: data
            )
            let watch = try rig.start(["watch", "--initial", "--count", "40"])
            try watch.awaitOutput("ready")
            for number in 1...20 { _ = try rig.output("put", "a", "\(number)") }
            program.signal(SIGKILL)
            _ = program.wait()
            let next = try Program(flags + ["\(port)"])
            _ = try next.awaitPort()
            for number in 21...40 { _ = try rig.output("put", "a", "\(number)") }
            let result = watch.finish()
            #expect(result.output == (1...40).map { "put a \($0)\n" }.joined())
            #expect(next.end() == 0)
        }
        withExtendedLifetime(data) {}
    }

    @Test func `top prints one picture where there is no terminal`() async throws {
        try await ClientWay.plain.serve { rig in
            let output = try rig.output("top", "127.0.0.1:\(rig.port)")
            #expect(output.contains("requests/s "))
            #expect(output.contains("\nlock "))
            #expect(!output.contains("\u{1B}"))
        }
    }
}
