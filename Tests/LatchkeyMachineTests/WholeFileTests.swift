import Foundation
import LatchkeyTestSupport
import Testing

@testable import LatchkeyMachine

/// Files that are written and read as a whole.
@Suite(.timeLimit(.minutes(15)))
struct WholeFileTests {
    private static let rules = [WholeFile.Rule.secret, .newSecret, .asBefore]
    private static let one = Array("one".utf8)

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var path: String { folder.path + "/file" }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
    }

    private func text() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func mode() throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    /// Makes something at the path that is no regular file.
    private func make(_ kind: mode_t) {
        switch kind {
        case S_IFIFO: #expect(unsafe mkfifo(path, 0o600) == 0)
        case S_IFDIR: #expect(unsafe mkdir(path, 0o700) == 0)
        case _: #expect(unsafe mknod(path, S_IFSOCK | 0o600, 0) == 0)
        }
    }

    @Test(arguments: [S_IFIFO, S_IFDIR, S_IFSOCK], rules)
    func `a path of no regular file is refused and stays`(
        kind: mode_t,
        rule: WholeFile.Rule
    ) throws {
        make(kind)
        #expect(throws: FileFailure.self) { try WholeFile.write(Self.one, to: path, rule) }
        #expect(FilePath.kind(path) == kind)
        #expect(try names == ["file"])
    }

    @Test func `a device is written, but for a new secret, and stays a device`() throws {
        let failure = #expect(throws: FileFailure.self) {
            try WholeFile.write(Self.one, to: "/dev/null", .newSecret)
        }
        #expect(failure?.unwritten == "/dev/null cannot be written: File exists.")
        try WholeFile.write(Self.one, to: "/dev/null", .asBefore)
        #expect(FilePath.kind("/dev/null") == S_IFCHR)
    }

    @Test func `a new secret replaces nothing, also what comes while it is written`() throws {
        let file = try WholeFile(path, .newSecret)
        try file.write(Self.one)
        try folder.write("file", "mine")
        #expect(throws: FileFailure.self) { try file.keep() }
        #expect(throws: FileFailure.self) { try WholeFile(path, .newSecret) }
        #expect(try text() == "mine")
    }

    @Test(arguments: rules)
    func `a file that is not kept leaves nothing`(rule: WholeFile.Rule) throws {
        do {
            let file = try WholeFile(path, rule)
            try file.write(Self.one)
            #expect(FilePath.kind(path) == nil)
        }
        #expect(try names.isEmpty)
    }

    @Test func `the part of a killed process is replaced`() throws {
        let part = try #require(try WholeFile(path, .secret).part)
        try "old".write(toFile: part, atomically: false, encoding: .utf8)
        try WholeFile.write(Self.one, to: path, .secret)
        #expect(try text() == "one")
        #expect(try names == ["file"])
    }

    @Test func `a file keeps its permissions unless it is secret`() throws {
        try folder.write("file", "mine")
        #expect(unsafe chmod(path, 0o640) == 0)
        try WholeFile.write(Self.one, to: path, .asBefore)
        #expect(try mode() == 0o640)
        try WholeFile.write(Self.one, to: path, .secret)
        #expect(try mode() == 0o600)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `a file keeps its owner`() throws {
        try folder.write("file", "mine")
        #expect(unsafe chown(path, 65_534, 65_534) == 0)
        try WholeFile.write(Self.one, to: path, .asBefore)
        var status = stat()
        #expect(unsafe stat(path, &status) == 0 && status.st_uid == 65_534)
    }

    @Test(arguments: rules)
    func `an open file is written where it is`(rule: WholeFile.Rule) throws {
        try folder.write("file", "")
        let descriptor = unsafe open(path, O_WRONLY | O_APPEND)
        defer { close(descriptor) }
        #expect(unsafe write(descriptor, "first ", 6) == 6)
        try WholeFile.write(Self.one, to: "/dev/fd/\(descriptor)", rule)
        #expect(try text() == "first one")
        #expect(try names == ["file"])
    }

    // MARK: Reading

    @Test func `a pipe with a name is refused as an input, and not waited for`() {
        make(S_IFIFO)
        let failure = #expect(throws: FileFailure.self) {
            _ = try InputFile(path, byteCountMax: 10)
        }
        #expect(failure?.unread.contains("it is a pipe with a name") == true)
    }

    @Test func `an open pipe is read to its end, however late that comes`() throws {
        let pipe = Pipe()
        let (reads, writes) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
        let thread = TestThread {
            try? writes.write(contentsOf: Data(repeating: 7, count: 1 << 20))
            try? writes.close()
        }
        let file = try InputFile("/dev/fd/\(reads.fileDescriptor)", byteCountMax: 1 << 21)
        thread.join()
        #expect(file.isPipe && file.bytes.count == 1 << 20)
    }

    @Test func `one byte more than the bound says that a file is too long`() throws {
        try folder.write("file", "12345")
        #expect(try InputFile(path, byteCountMax: 5).bytes.count == 5)
        #expect(try InputFile(path, byteCountMax: 3).bytes.count == 4)
    }
}
