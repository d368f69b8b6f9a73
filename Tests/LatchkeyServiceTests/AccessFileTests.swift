import Foundation
import LatchkeyMachine
import LatchkeyTestSupport
import Testing

@testable import LatchkeyAccess
@testable import LatchkeyService

/// The files of tokens and certificates, whatever stands at their paths.
@Suite(.timeLimit(.minutes(15)))
struct AccessFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var settings: AccessSettings {
        var settings = AccessSettings()
        settings.tokenFile = folder.path + "/tokens"
        settings.firstToken = folder.path + "/token"
        return settings
    }

    private func message(_ body: () throws(AccessFileError) -> Void) -> String {
        do throws(AccessFileError) {
            try body()
            return ""
        } catch {
            return error.message
        }
    }

    @Test(arguments: ["token", "tokens"])
    func `a first token replaces nothing`(name: String) throws {
        let path = "\(folder.path)/\(name)"
        #expect(unsafe mkfifo(path, 0o600) == 0)
        var settings = settings
        // The file of tokens must be missing, or no token is made.
        if name == "tokens" {
            #expect(unsafe unlink(path) == 0)
            try FileManager.default.createSymbolicLink(
                atPath: path,
                withDestinationPath: "none"
            )
        }
        let reason = message { () throws(AccessFileError) in _ = try settings.makeFirstToken() }
        #expect(reason.contains("cannot be written"))
        #expect(reason.contains("no program reads the pipe") == (name == "token"), "\(reason)")
        var status = stat()
        #expect(unsafe lstat(path, &status) == 0)
        #expect(status.st_mode & S_IFMT == (name == "token" ? S_IFIFO : S_IFLNK))
        settings.firstToken = "/dev/null"
        settings.tokenFile = folder.path + "/others"
        for isMade in [false, true] {
            let reason = message { () throws(AccessFileError) in
                if isMade {
                    _ = try settings.makeFirstToken()
                } else {
                    try settings.checkFirstToken()
                }
            }
            #expect(reason.contains("/dev/null cannot be written: File exists. Remove it"))
        }
        #expect(FilePath.kind("/dev/null") == S_IFCHR)
        #expect(FilePath.kind(settings.tokenFile) == nil)
    }

    @Test func `a pipe with a name is no file of tokens and no certificate`() {
        let path = folder.path + "/tokens"
        #expect(unsafe mkfifo(path, 0o600) == 0)
        let unread = "\(path) cannot be read: it is a pipe with a name; give a file or <(…)."
        #expect(message { () throws(AccessFileError) in _ = try AccessControl(settings) } == unread)
        var tls = TLSSettings()
        (tls.certificate, tls.key) = (path, path)
        #expect(message { () throws(AccessFileError) in _ = try ServedCertificate(tls) } == unread)
        let adding = message { () throws(AccessFileError) in try TokenLine.add("x", to: path) }
        #expect(adding == unread)
    }

    @Test func `tokens from an open pipe are read once`() throws {
        let pipe = Pipe()
        let line = try TokenLine.make("ci", ["read"]).line
        pipe.fileHandleForWriting.write(Data((line + "\n").utf8))
        try pipe.fileHandleForWriting.close()
        var settings = settings
        settings.tokenFile = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        let access = try AccessControl(settings)
        #expect(access.tokenCount == 1)
        #expect(try access.reload(onlyIfChanged: true) == nil)
        let asked = message { () throws(AccessFileError) in
            _ = try access.reload(onlyIfChanged: false)
        }
        #expect(asked.contains("was a pipe, which cannot be read again"))
        #expect(access.tokenCount == 1)
    }

    @Test
    func `the message for an emptied file says that its tokens stay valid, and how to end them`()
        throws
    {
        let path = settings.tokenFile
        try TokenLine.add(try TokenLine.make("ci", ["read"]).line, to: path)
        let access = try AccessControl(settings)
        try folder.write("tokens", "")
        let reason = message { () throws(AccessFileError) in
            _ = try access.reload(onlyIfChanged: true)
        }
        #expect(reason.contains("the tokens that it had stay valid until it is right"))
        #expect(reason.contains("'latchkey token revoke --all --token-file \(path)'"))
        #expect(access.tokenCount == 1)
        try TokenLine.revokeAll(in: path)
        _ = try access.reload(onlyIfChanged: true)
        #expect(access.tokenCount == 0)
        try TokenLine.add(try TokenLine.make("new", ["read"]).line, to: path)
        _ = try access.reload(onlyIfChanged: true)
        #expect(access.tokenCount == 1)
        let missing = message { () throws(AccessFileError) in
            try TokenLine.revokeAll(in: folder.path + "/none")
        }
        #expect(missing.contains("is no file of tokens"))
    }

    @Test func `a line that the disk has no room for leaves the file as it was`() async {
        // The limit is of a process. A write across it is short, as on a full disk.
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let path = folder.path + "/tokens"
            try TokenLine.add(try TokenLine.make("ci", ["read"]).line, to: path)
            let former = try String(contentsOfFile: path, encoding: .utf8)
            let line = try TokenLine.make("new", ["read"]).line
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            var limit = rlimit()
            try #require(unsafe getrlimit(resource, &limit) == 0)
            for (name, length) in [("tokens", former.utf8.count), ("others", 0)] {
                limit.rlim_cur = rlim_t(length + 9)
                try #require(unsafe setrlimit(resource, &limit) == 0)
                var reason = ""
                do throws(AccessFileError) {
                    try TokenLine.add(line, to: "\(folder.path)/\(name)")
                } catch {
                    reason = error.message
                }
                try #require(reason.contains("No space left on device"), "\(reason)")
            }
            try #require(try String(contentsOfFile: path, encoding: .utf8) == former)
            try #require(FilePath.kind(folder.path + "/others") == nil)
        }
    }
}
