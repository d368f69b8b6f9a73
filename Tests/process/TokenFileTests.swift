import Foundation
import LatchkeyService
import LatchkeyTestSupport
import Testing

@testable import LatchkeyAccess
@testable import latchkey

/// The file of tokens, the command that makes its lines, and the checks of a service at its start.
@Suite(.timeLimit(.minutes(15)))
struct TokenFileTests {
    @Test func `beyond loopback a service without tokens says that it is insecure`() async throws {
        try await offPool {
            let program = try Program(["serve", "--host", "0.0.0.0", "--port", "0", "--insecure"])
            let site = Site(port: try program.awaitPort())
            try program.awaitErrors(containing: "everybody who can connect may do everything")
            #expect(try site.ask("GET", "/readyz?verbose").text.contains("--insecure"))
            #expect(try site.ask("GET", "/metrics").text.contains("\nlatchkey_access_insecure 1\n"))
            #expect(program.end() == 0)
        }
    }

    @Test func `a first token is made once, and only its owner can read it`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            let (file, secret) = (folder.path + "/tokens", folder.path + "/token")
            let flags = ["serve", "--port", "0", "--token-file", file, "--first-token", secret]
            var first = ""
            for _ in 0..<2 {
                let program = try Program(flags)
                let site = Site(port: try program.awaitPort())
                let text = try String(contentsOfFile: secret, encoding: .utf8)
                first = first.isEmpty ? text : first
                #expect(text == first && text.hasSuffix("\n"))
                let headers = ["Authorization: Bearer \(text.dropLast())"]
                for (method, target) in [
                    ("GET", "/v1/export"), ("POST", "/v1/contention/reset"),
                    ("GET", "/v1/operations"),
                ] {
                    let status = try site.ask(method, target, headers: headers).status
                    #expect((200..<300).contains(status))
                }
                let found = program.endAndFinish()
                #expect(found.status == 0 && !found.errors.contains(text.dropLast()))
                for path in [file, secret] {
                    let attributes = try FileManager.default.attributesOfItem(atPath: path)
                    #expect(attributes[.posixPermissions] as? Int == 0o600)
                }
            }
        }
    }

    @Test func `a pipe with a name is refused at the start, which does not wait`() async throws {
        let folder = try TemporaryFolder()
        let pipe = folder.path + "/pipe"
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        for flags in [
            ["--token-file", pipe], ["--tls-certificate", pipe, "--tls-key", pipe],
            ["--token-file", folder.path + "/tokens", "--first-token", pipe],
            ["--token-file", folder.path + "/tokens", "--first-token", "/dev/null"],
        ] {
            // A pipe can have a reader later: only the start knows.
            let isLater = flags.last == pipe && flags.contains("--first-token")
            for command in isLater ? [["serve"]] : [["serve"], ["check-config"]] {
                let result = try await Program.result(of: command + ["--port", "0"] + flags)
                let isNamed =
                    result.errors.contains("cannot be read")
                    || result.errors.contains("cannot be written")
                #expect(result.status != 0 && isNamed, "\(flags): \(result.errors)")
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["pipe"])
    }

    @Test func `all tokens of a file are revoked while a service reads it`() async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            let file = folder.path + "/tokens"
            let made = try Program(
                ["token", "create", "ci", "--grant", "read", "--token-file", file]
            ).finish()
            let headers = ["Authorization: Bearer \(made.output.dropLast())"]
            let program = try Program(["serve", "--port", "0", "--token-file", file])
            let site = Site(port: try program.awaitPort())
            func status() throws -> Int {
                try site.ask("GET", "/v1/properties", headers: headers).status
            }
            #expect(try status() == 200)
            try Data().write(to: URL(fileURLWithPath: file))
            try program.awaitErrors(containing: "the tokens that it had stay valid")
            #expect(try status() == 200)
            let revoked = try Program(["token", "revoke", "--all", "--token-file", file]).finish()
            #expect(revoked.status == 0 && revoked.output.contains("No token of \(file)"))
            try eventually("no token counts") { try status() == 401 }
            #expect(program.end() == 0)
        }
    }

    @Test func `the command makes tokens, and adds one to a file once`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/tokens"
        let create = [
            "token", "create", "ci", "--grant", "read,write:app/", "--grant", "operations",
        ]
        let made = try await Program.result(of: create)
        let lines = made.output.split(separator: "\n")
        #expect(made.status == 0 && lines.count == 2)
        #expect(TokenSecret.isWhole(String(lines[0])) && !lines[1].contains(lines[0]))
        #expect(lines[1].hasSuffix(" read,write:app/ operations"))
        for _ in 0..<2 {
            let added = try await Program.result(of: create + ["--token-file", file])
            #expect(added.status == 0 && TokenSecret.isWhole(String(added.output.dropLast())))
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count == 2)
        let other = ["token", "create", "ci", "--grant", "read", "--token-file", file]
        let refused = try await Program.result(of: other)
        #expect(refused.status == 2 && refused.errors.contains("has other grants"))
        #expect(try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count == 2)
    }
}
