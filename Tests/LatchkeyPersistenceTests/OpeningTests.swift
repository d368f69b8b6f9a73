import Foundation
import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

@Suite("What is refused at the start", .timeLimit(.minutes(15)))
struct OpeningTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func failure(_ path: String) -> PersistenceFailure.Code? {
        do {
            let persistence = try Persistence(opening: path, startRevision: 1)
            _ = persistence.finish()
            return nil
        } catch {
            return error.code
        }
    }

    @Test
    func `a second process`() throws {
        let opened = try Opened(folder.data)
        #expect(failure(folder.data) == .inUse)
        #expect(opened.persistence.finish() == .written)
        #expect(failure(folder.data) == nil)
    }

    @Test(arguments: [
        ("pragma user_version = 4", PersistenceFailure.Code.newerFormat),
        ("pragma application_id = 1", .foreign), ("create table mine(a)", .damaged),
        ("drop view properties", .damaged), ("update meta set value = value + 1", .damaged),
        ("delete from meta where key = 'storedSum'", .damaged),
    ])
    func `a file that is not ours`(statement: String, code: PersistenceFailure.Code) throws {
        let opened = try Opened(folder.data)
        #expect(opened.persistence.finish() == .written)
        #expect(try shell(folder.data + "/latchkey.db", statement).isEmpty)
        #expect(failure(folder.data) == code)
    }

    @Test(arguments: ["latchkey.db", "latchkey.db-wal"])
    func `another program's file is left alone`(name: String) throws {
        try FileManager.default.createDirectory(
            atPath: folder.data,
            withIntermediateDirectories: true
        )
        let path = folder.data + "/" + name
        let content = Data(repeating: 7, count: 5000)
        try content.write(to: URL(filePath: path))
        #expect(failure(folder.data) == .damaged)
        #expect(try Data(contentsOf: URL(filePath: path)) == content)
    }

    @Test
    func `a database that is missing or empty beside its lock`() throws {
        let opened = try Opened(folder.data)
        #expect(opened.persistence.finish() == .written)
        try FileManager.default.removeItem(atPath: folder.data + "/latchkey.db")
        #expect(failure(folder.data) == .damaged)
        _ = FileManager.default.createFile(atPath: folder.data + "/latchkey.db", contents: nil)
        #expect(failure(folder.data) == .damaged)
    }

    @Test
    func `writes end when another program has written`() throws {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        opened.commit(try source.next())
        let output = try shell(folder.data + "/latchkey.db", "delete from changes")
        #expect(output.isEmpty)
        #expect(opened.fate(of: try source.next()) == .failed)
        #expect(opened.persistence.unavailability == .failing)
        guard case .failed(_, endsByItself: false) = opened.persistence.status.health else {
            Issue.record("It has not failed for good.")
            return
        }
        #expect(opened.persistence.finish() == .failed)
    }
}
