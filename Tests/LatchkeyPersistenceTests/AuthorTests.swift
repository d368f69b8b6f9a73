import Foundation
package import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

extension CommitNote: ExpressibleByArrayLiteral {
    /// A note without an author.
    package init(arrayLiteral bytes: UInt8...) {
        self = CommitNote(author: [], bytes: bytes) ?? []
        author = nil
    }
}

@Suite("Authors of changes", .timeLimit(.minutes(15)))
struct AuthorTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private static let compacting: Tuning = {
        var tuning = Tuning()
        tuning.roundCountMin = 10
        tuning.sliceCount = 20
        return tuning
    }()

    /// A folder with changes of authors and of none.
    private func fill(_ folder: TemporaryFolder, _ tuning: Tuning = Tuning()) throws -> Model {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, tuning)
        for (name, author) in [("a", "ci"), ("b", nil), ("c", "ä@b"), ("a", "ops"), ("d", "ci")] {
            let note = CommitNote(author: author.map { Array($0.utf8) }, bytes: nil)
            opened.persistence.append(try source.put(name, "1"), note: note)
        }
        opened.waitUntilReleased(source.model.revision)
        #expect(opened.persistence.finish() == .written)
        return source.model
    }

    private func select(_ folder: String, _ columns: String, _ rest: String) throws -> [String] {
        try shell(folder + "/latchkey.db", "select \(columns) from \(rest)")
            .split(separator: "\n").map(String.init)
    }

    private let latest = ["a|ops", "b|", "c|ä@b", "d|ci"]

    @Test
    func `an author stands beside the change, and the last one beside the property`() throws {
        _ = try fill(folder)
        let changes = try select(folder.data, "name, author", "changes order by row")
        #expect(changes == ["a|ci", "b|", "c|ä@b", "a|ops", "d|ci"])
        let view = "properties order by name"
        #expect(try select(folder.data, "name, author", view) == latest)
    }

    @Test
    func `a compaction keeps the author of the last change`() throws {
        let model = try fill(folder)
        let opened = try Opened(folder.data, .standard, Self.compacting)
        var source = CommitSource(seed: 2, after: model.revision)
        while opened.persistence.status.storedRevision <= model.revision {
            opened.commit(try source.put("e", "2"))
        }
        #expect(opened.persistence.finish() == .written)
        let stored = try select(folder.data, "name, author", "stored where name < 'e'")
        #expect(stored == latest)
        let again = try Opened(folder.data)
        #expect(again.model.entries.count == 5)
        #expect(again.persistence.finish() == .written)
    }

    @Test
    func `a changed author is damage`() throws {
        _ = try fill(folder)
        for author in ["'x'", "null", "x'6369'"] {
            let copy = try folder.copy()
            let change = "update changes set author = \(author) where name = 'd'"
            #expect(try shell(copy + "/latchkey.db", change).isEmpty)
            let report = try Persistence.check(copy)
            #expect(report.damages.first?.contains("is not what was written") == true)
        }
    }

    @Test
    func `a backup, and what is restored from it, have the authors`() throws {
        _ = try fill(folder)
        let file = folder.path + "/backup.db"
        _ = try Persistence.backup(of: folder.data, into: file)
        let restored = folder.path + "/restored"
        #expect(try Persistence.restore(file, into: restored).damages.isEmpty)
        #expect(try select(restored, "name, author", "stored") == latest)
    }

    @Test
    func `a database of the first format is upgraded when a service opens it`() throws {
        var source = CommitSource(seed: 4, after: Opened.startRevision, touches: false)
        let opened = try Opened(folder.data, .standard, Self.compacting)
        for _ in 0..<200 { opened.persistence.append(try source.next(), note: [1]) }
        opened.waitUntilReleased(source.model.revision)
        #expect(opened.persistence.finish() == .written)
        let path = folder.data + "/latchkey.db"
        let view = Schema.statements(of: Schema.firstFormat)[3]
        let downgrade =
            "begin; drop view properties; alter table changes drop column author; "
            + "alter table changes drop column kept; "
            + "alter table stored drop column author; \(view); pragma user_version = 1; "
            + "delete from meta where key like 'skip%'; commit"
        #expect(try shell(path, downgrade).isEmpty)
        // Programs that only read leave it as it is.
        #expect(try Persistence.check(folder.data).damages.isEmpty)
        let file = folder.path + "/backup.db"
        #expect(try Persistence.backup(of: folder.data, into: file).damages.isEmpty)
        let restored = folder.path + "/restored"
        #expect(try Persistence.restore(file, into: restored).damages.isEmpty)
        #expect(try shell(path, "pragma user_version") == "1\n")
        let again = try Opened(folder.data)
        #expect(again.model == source.model)
        #expect(again.notes.count > 0)
        let note = CommitNote(author: Array("ci".utf8), bytes: nil)
        again.persistence.append(try source.put("new", "1"), note: note)
        #expect(again.persistence.finish() == .written)
        #expect(try shell(path, "pragma user_version") == "3\n")
        #expect(try select(folder.data, "author", "properties where name = 'new'") == ["ci"])
        #expect(try Opened.read(folder.data) == source.model)
        #expect(try Persistence.check(folder.data).damages.isEmpty)
    }

    @Test
    func `the tables of the first format are known as they were`() {
        #expect(
            Schema.statements(of: Schema.firstFormat) == [
                """
                CREATE TABLE changes(row integer primary key, revision integer not null, \
                more integer not null, reason integer not null, time integer not null, \
                created integer, expiry integer, checksum integer not null, name text not null, \
                value text)
                """,
                """
                CREATE TABLE meta(key text primary key not null, value integer not null, \
                checksum integer not null) without rowid
                """,
                """
                CREATE TABLE notes(revision integer primary key, time integer not null, \
                checksum integer not null, note blob not null)
                """,
                """
                CREATE VIEW properties as select name, value, revision, created, expiry from (\
                select c.name, c.value, c.revision, c.created, c.expiry from changes c \
                where c.row in (select max(row) from changes group by name) \
                and c.value is not null union all \
                select s.name, s.value, s.revision, s.created, s.expiry from stored s \
                where s.name not in (select name from changes)) where expiry is null \
                or expiry > (julianday('now') - 2440587.5) * 86400000
                """,
                """
                CREATE TABLE stored(name text primary key not null, revision integer not null, \
                created integer not null, expiry integer, checksum integer not null, \
                value text not null) without rowid
                """,
            ]
        )
    }
}
