import CSQLite
import Foundation
import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// Databases whose checksums are right and whose content is wrong: every reader refuses them with a
/// sentence.
@Suite("Hostile databases", .timeLimit(.minutes(15)))
struct HostileDatabaseTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Makes a folder whose last commit puts a property with these numbers.
    private func make(
        value: String = "1",
        revision: Revision? = nil,
        created: Revision? = nil,
        expiry: Int64? = nil,
        time: Int64 = 1000
    ) throws {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        try opened.commit(20, of: &source)
        let next = source.model.revision + 1
        let property = try makeProperty(
            "wrong",
            value,
            revision ?? next,
            created,
            expiry.map { Timestamp(milliseconds: $0) } ?? .never
        )
        opened.commit(
            Commit(
                revision: next,
                time: Timestamp(milliseconds: time),
                first: Commit.Effect(from: nil, to: property, .requested)
            )
        )
        #expect(opened.persistence.finish() == .written)
    }

    /// A copy of the database in one file, which no reader has opened.
    private func file() throws -> String {
        let file = folder.path + "copy.db"
        try? FileManager.default.removeItem(atPath: file)
        _ = try shell(folder.data + "/latchkey.db", "vacuum into '\(file)'")
        return file
    }

    /// Each reader of the database says that it is damaged, and goes on.
    private func expectRefused(_ what: String) throws {
        #expect(throws: PersistenceFailure.self, "\(what)") { try Opened.read(folder.data) }
        do {
            let report = try Persistence.check(folder.data)
            #expect(!report.damages.isEmpty, "\(what)")
        } catch {
            #expect(error.code == .damaged, "\(what): \(error)")
        }
        let file = try file()
        let restored = folder.path + "restored"
        let failure = #expect(throws: PersistenceFailure.self, "\(what)") {
            try Persistence.restore(file, into: restored)
        }
        #expect(failure?.code == .damaged, "\(what)")
        #expect(!FileManager.default.fileExists(atPath: restored + "/latchkey.db"), "\(what)")
        #expect(throws: PersistenceFailure.self, "\(what)") {
            try Persistence.seed(file, into: folder.path + "seeded")
        }
        let backup = folder.path + "backup.db"
        #expect(throws: PersistenceFailure.self, "\(what)") {
            try Persistence.backup(of: folder.data, into: backup)
        }
        #expect(!FileManager.default.fileExists(atPath: backup), "\(what)")
    }

    @Test(arguments: ["", "{", "[1,", "\u{1}", "nul", "\"\\ud800", "1 2"])
    func `a value that is not JSON is damage`(value: String) throws {
        try make(value: value)
        try expectRefused(value)
    }

    @Test(
        arguments: [
            -1, .max, .min, InputCheck.millisecondsMax + 1, 9_223_372_036_855,
        ] as [Int64]
    )
    func `a time that no clock shows is damage`(time: Int64) throws {
        try make(time: time)
        try expectRefused("\(time)")
    }

    @Test(arguments: [-1, .min, .max - 1] as [Int64])
    func `an end of a time to live that cannot be is damage`(expiry: Int64) throws {
        try make(expiry: expiry)
        try expectRefused("\(expiry)")
    }

    @Test(arguments: [0, 1022, 1 << 62, .max] as [Revision])
    func `a property that was created after its revision is damage`(
        created: Revision
    ) throws {
        try make(created: created)
        try expectRefused("\(created)")
    }

    @Test func `values that a client can have sent are read`() throws {
        try make(
            value: " {\"a\":[1]} ",
            created: 1,
            expiry: InputCheck.millisecondsMax + 1,
            time: InputCheck.millisecondsMax
        )
        #expect(try Opened.read(folder.data).entries["wrong"]?.created == 1)
        #expect(try Persistence.check(folder.data).damages.isEmpty)
    }

    @Test(
        arguments: [
            (.storedTime, -1), (.storedTime, .max), (.storedCount, -1), (.storedCount, .max),
            (.storedRow, .min), (.storedRow, .max), (.storedRevision, .max),
            (.startRevision, -1), (.startRevision, .max), (.roundRow, .max),
            (.roundRevision, 0), (.roundRevision, -1), (.probe, -1), (.storedSum, -1),
            (.skipRow, -1), (.skipRow, .max), (.skipRevision, -1), (.skipRevision, .max),
        ] as [(MetaKey, Int64)]
    )
    func `numbers of the table meta that no service writes are damage`(
        key: MetaKey,
        value: Int64
    ) throws {
        try make()
        let connection = try Connection(folder.data + "/latchkey.db")
        var meta = try Meta(connection)
        meta[key] = value
        try meta.write([key], Statement(connection, Meta.writing))
        // Otherwise its log would be the damage: no service has noted it.
        try connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
        try expectRefused("\(key) \(value)")
    }

    @Test(
        arguments: [
            "view stored as with recursive r(n) as (select 1 union all select n + 1 from r) "
                + "select 'a' || n as name, 1 as revision, 1 as created, null as expiry, "
                + "0 as checksum, '1' as value, null as author from r",
            "table stored(name text primary key not null, revision integer not null, "
                + "created integer not null, expiry integer, checksum integer not null, "
                + "value text not null, author text as (hex(zeroblob(500000000)))) without rowid",
        ]
    )
    func `a table that is something else is never read`(sql: String) throws {
        try make()
        _ = try shell(folder.data + "/latchkey.db", "drop table stored; create \(sql)")
        try expectRefused(sql)
        let failure = #expect(throws: PersistenceFailure.self) {
            try Persistence.recover(folder.data, acceptLoss: true)
        }
        #expect(failure?.code == .damaged)
    }

    /// A row of the table `changes` as it can be changed.
    private struct Row {
        var numbers: [Int64?]
        var texts: [[UInt8]?]

        /// Changes a number or a text.
        mutating func mutate(_ random: inout SeededGenerator) {
            let wrong: [Int64?] = [
                -1, 0, 1, 2, 255, 1000, 1001, 1 << 31, 1 << 53, 1 << 62, .max, .min, nil,
            ]
            if Bool.random(using: &random) {
                let index = Int.random(in: 0..<numbers.count, using: &random)
                numbers[index] = wrong.randomElement(using: &random) ?? 0
            } else {
                let index = Int.random(in: 0..<texts.count, using: &random)
                texts[index] = random.mutated(texts[index] ?? [1], SeededGenerator.texts)
            }
        }
    }

    /// Rows that were changed and have their right checksums are refused, or have what a store can
    /// have.
    @Test(arguments: [1, 2] as [UInt64])
    func `rows with right checksums are refused, or have what a store can have`(
        seed: UInt64
    ) throws {
        try make()
        let database = folder.data + "/latchkey.db"
        let connection = try Connection(database)
        let count = try #require(try connection.integer("select count(*) from changes"))
        var random = SeededGenerator(seed)
        var readCount = 0
        for _ in 0..<Depth.count(200, deep: 5000) {
            try connection.execute("begin")
            try change(row: Int64.random(in: 1...count, using: &random), connection, &random)
            let reader = RowReader(connection, try Meta(connection), database)
            var read = RowReader.ChangesRead(revision: 0)
            do {
                try reader.readChanges(&read) { commits in
                    for commit in commits { Self.check(commit) }
                }
                readCount += 1
            } catch {
                #expect(error.code == .damaged)
            }
            connection.rollBack()
        }
        #expect(readCount > 0)
    }

    private func change(
        row: Int64,
        _ connection: Connection,
        _ random: inout SeededGenerator
    ) throws {
        let reading = try Statement(connection, "\(ChangeRow.reading) where row = \(row)")
        guard try reading.step() else { return }
        // The revision, how many follow, the reason, the times, and the revision that is kept.
        var changed = Row(
            numbers: [1, 2, 3, 4, 5, 6, 11].map { reading.optionalInteger($0) },
            texts: [8, 9, 10].map { unsafe reading.optionalBytes($0).map { unsafe Array($0) } }
        )
        reading.reset()
        changed.mutate(&random)
        let (numbers, texts) = (changed.numbers, changed.texts)
        let revision = numbers[0] ?? 0
        let property = RowNumbers(
            revision: numbers[6] ?? revision,
            created: numbers[4] ?? 0,
            expiry: numbers[5]
        )
        let writing = try Statement(
            connection,
            "update changes set revision = ?1, more = ?2, reason = ?3, time = ?4, created = ?5, "
                + "expiry = ?6, kept = ?7, checksum = ?8, name = cast(?9 as text), "
                + "value = cast(?10 as text), author = cast(?11 as text) where row = \(row)"
        )
        let checksum = unsafe (texts[0] ?? []).withBytes { name in
            unsafe texts[1].withOptionalBytes { value in
                unsafe texts[2].withOptionalBytes { author in
                    unsafe ChangeRow.checksum(
                        property,
                        revision: revision,
                        more: numbers[1] ?? 0,
                        reason: numbers[2] ?? 0,
                        time: numbers[3] ?? 0,
                        name,
                        value,
                        author
                    )
                }
            }
        }
        for index in 0..<7 {
            let isNeeded = index < 4
            try writing.bind(Int32(index + 1), isNeeded ? numbers[index] ?? 0 : numbers[index])
        }
        try writing.bind(8, checksum)
        try unsafe (texts[0] ?? []).withBytes { (name) throws(DatabaseError) in
            try unsafe texts[1].withOptionalBytes { (value) throws(DatabaseError) in
                try unsafe texts[2].withOptionalBytes { (author) throws(DatabaseError) in
                    try unsafe writing.bindText(9, name)
                    try unsafe writing.bindOptionalText(10, value)
                    try unsafe writing.bindOptionalText(11, author)
                    try writing.run()
                }
            }
        }
    }

    private static func check(_ commit: StoredCommit) {
        #expect(InputCheck.time(commit.time.milliseconds) != nil)
        #expect(commit.revision <= InputCheck.revisionMax)
        for effect in commit.effects {
            guard let property = effect.property else { continue }
            #expect(unsafe InputCheck.isValue(property.valueBytes))
            #expect(property.created > 0 && property.created <= property.revision)
            #expect(!property.isMortal || InputCheck.expiry(property.expiry.milliseconds) != nil)
        }
    }
}
