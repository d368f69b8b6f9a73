import Foundation
import LatchkeyCommandLine
import LatchkeyTestSupport
import Testing

@testable import LatchkeyClient
@testable import latchkey

/// Where the service's address and the token come from.
struct SettingsTests {
    private static func settings(
        _ arguments: [String] = [],
        _ environment: [String: String] = [:]
    ) throws -> ClientSettings {
        let values = try GetCommand().values(["a"] + arguments) { environment[$0] }
        return try ClientFlags.settings(values)
    }

    /// A folder with a file of settings, and the variable that names the folder.
    private static func folder(
        _ text: String,
        mode: Int = 0o600
    ) throws -> (TemporaryFolder, [String: String]) {
        let folder = try TemporaryFolder()
        let path = folder.path + "/latchkey"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return (folder, ["XDG_CONFIG_HOME": folder.path])
    }

    @Test func `a flag counts more than a variable, and that more than the file`() throws {
        let (folder, home) = try Self.folder("# mine\nurl = http://file:1\ntoken=file\n\n")
        #expect(try Self.settings([], home).url == "http://file:1")
        #expect(try Self.settings([], home).token == "file")
        let both = home.merging(["LATCHKEY_URL": "http://variable:1", "LATCHKEY_TOKEN": "v"]) { $1 }
        #expect(try Self.settings([], both).url == "http://variable:1")
        #expect(try Self.settings([], both).token == "v")
        let flags = ["--url", "http://flag:1", "--token=f"]
        #expect(try Self.settings(flags, both).url == "http://flag:1")
        #expect(try Self.settings(flags, both).token == "f")
        #expect(try Self.settings().url == "http://127.0.0.1:8080")
        withExtendedLifetime(folder) {}
    }

    @Test func `a token of a nearer place replaces the file of one, and the other way`() throws {
        let (folder, home) = try Self.folder("token-from = /file\n")
        #expect(try Self.settings([], home).tokenFile == "/file")
        let variable = home.merging(["LATCHKEY_TOKEN": "v"]) { $1 }
        #expect(try Self.settings([], variable).tokenFile == "none")
        #expect(try Self.settings([], variable).token == "v")
        #expect(try Self.settings(["--token-from=/flag"], variable).tokenFile == "/flag")
        let other = home.merging(["LATCHKEY_TOKEN_FROM": "/v"]) { $1 }
        let replaced = try Self.settings(["--token=f"], other)
        #expect(replaced.tokenFile == "none")
        #expect(replaced.token == "f")
        #expect(throws: ClientFailure.self) {
            try Self.settings(["--token=f", "--token-from=/flag"])
        }
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: [
        ("url http://a", "line 1: a line is"), ("\nulr = http://a", "Did you mean 'url'?"),
        ("url = a b", "line 1: url takes"), ("url = http://a\nurl = http://b", "twice"),
        ("token = a\ntoken-from = b", "not both"), ("timeout-seconds = 0", "takes seconds from"),
    ])
    func `a file that is not right is a sentence`(text: String, reason: String) throws {
        let (folder, home) = try Self.folder(text)
        let error = #expect(throws: ClientFailure.self) { try Self.settings([], home) }
        #expect(error?.status == .usage)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        withExtendedLifetime(folder) {}
    }

    @Test func `a token that others can read is refused`() throws {
        for mode in [0o640, 0o604, 0o644] {
            let (folder, home) = try Self.folder("token = a\n", mode: mode)
            let error = #expect(throws: ClientFailure.self) { try Self.settings([], home) }
            #expect(error?.message.contains("chmod 600") == true)
            withExtendedLifetime(folder) {}
        }
        let (folder, home) = try Self.folder("url = http://a\n", mode: 0o644)
        #expect(try Self.settings([], home).url == "http://a")
        withExtendedLifetime(folder) {}
    }

    @Test func `the file is where XDG has it, or in the home`() {
        func path(_ environment: [String: String]) -> String? {
            ClientFile.path { environment[$0] }
        }
        #expect(path(["HOME": "/h"]) == "/h/.config/latchkey")
        #expect(path(["HOME": "/h", "XDG_CONFIG_HOME": "/x"]) == "/x/latchkey")
        #expect(path(["HOME": "/h", "XDG_CONFIG_HOME": "x"]) == "/h/.config/latchkey")
        #expect(path([:]) == nil)
    }

    @Test func `white space at the end of a token does not count`() throws {
        let folder = try TemporaryFolder()
        for end in ["", "\n", "\r\n", " \n", "\t\r\n", " "] {
            try folder.write("token", "secret\(end)")
            let file = ["--token-from", folder.path + "/token"]
            #expect(try Self.settings(file).connection().token == "secret")
            #expect(try Self.settings([], ["LATCHKEY_TOKEN": "secret" + end]).token == "secret")
        }
    }

    @Test func `a key needs its certificate`() throws {
        #expect(throws: ClientFailure.self) { try Self.settings(["--key=/k"]).connection() }
        let folder = try TemporaryFolder()
        let (certificate, key) = (folder.path + "/certificate", folder.path + "/key")
        let environment = ["LATCHKEY_CERT": certificate, "LATCHKEY_KEY": key]
        let settings = try Self.settings([], environment)
        #expect(settings.certificate == certificate && settings.key == key)
        func pem(_ kind: String) -> String {
            "-----BEGIN \(kind)-----\nMII=\n-----END \(kind)-----\n"
        }
        let whole = pem("CERTIFICATE")
        try folder.write("key", pem("EC PRIVATE KEY"))
        for text in ["no PEM\n", pem("PRIVATE KEY"), String(whole.dropLast(9)), whole] {
            try folder.write("certificate", text)
            let isPEM = (try? settings.connection()) != nil
            #expect(isPEM == (text == whole), "\(text)")
        }
    }

    @Test func `the patience is not less than the time of an attempt, unless it is given`() throws {
        #expect(try Self.settings().client().patience == .seconds(10))
        #expect(try Self.settings(["--timeout-seconds=60"]).client().patience == .seconds(60))
        let both = ["--timeout-seconds=60", "--patience-seconds=0.5"]
        #expect(try Self.settings(both).client().patience == .milliseconds(500))
    }

    @Test func `a message does not repeat a token`() {
        let error = #expect(throws: ClientFailure.self) {
            try Self.settings(["--token", "secret with space"])
        }
        #expect(error?.message.contains("secret") == false)
    }
}
