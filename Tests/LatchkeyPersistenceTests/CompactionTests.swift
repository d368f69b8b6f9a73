import Foundation
import LatchkeyMetrics
import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

@Suite("Compaction", .timeLimit(.minutes(15)))
struct CompactionTests {
    private let disk = FaultyDisk()
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var tuning: Tuning {
        var tuning = disk.tuning
        tuning.roundCountMin = 300
        tuning.sliceCount = 20
        tuning.checkpointFrameCount = 50
        tuning.restartFrameCount = 100
        return tuning
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `the state is right after a kill at any point of a round`(seed: UInt64) throws {
        var source = CommitSource(seed: seed, after: Opened.startRevision, nameCount: 700)
        let opened = try Opened(folder.data, .standard, tuning)
        var (index, partialCount) = (0, 0)
        // Which points of a round are met depends on the writer.
        while index < 1500 || partialCount == 0 {
            opened.commit(try source.next())
            if index % 10 == 0 {
                let copy = try disk.copy(folder, opened)
                let again = try Persistence(opening: copy, startRevision: 0)
                // The writer may have gone on with compaction, but not with commits.
                #expect(try Opened.read(again).0 == source.model)
                partialCount += again.historyRevision > again.storedRevision ? 1 : 0
                _ = again.finish()
            }
            index += 1
        }
        #expect(opened.persistence.statistics.compactionRounds.value > 3)
        #expect(opened.persistence.statistics.compactedRows.value > 3)
        try opened.expectEnd(source.model)
    }

    @Test
    func `a round that a killed process has begun is ended by the next one`() throws {
        var source = CommitSource(seed: 3, after: Opened.startRevision, nameCount: 700)
        let opened = try Opened(folder.data, .standard, tuning)
        var copy: String?
        while copy == nil {
            try opened.commit(5, of: &source)
            let path = try disk.copy(folder, opened)
            let again = try Persistence(opening: path, startRevision: 0)
            copy = again.historyRevision > again.storedRevision ? path : nil
            _ = again.finish()
        }
        let path = try #require(copy)
        let again = try Opened(path)
        waitUntil {
            let status = again.persistence.status
            return status.storedRevision >= again.persistence.historyRevision
                && status.compactionProgress == nil
        }
        try again.expectEnd(again.model)
        #expect(opened.persistence.finish() == .written)
    }

    @Test
    func `compaction does not go past the history`() throws {
        var source = CommitSource(seed: 4, after: Opened.startRevision)
        let bound = Opened.startRevision + 900
        let opened = try Opened(folder.data, .standard, tuning, historyOldest: { bound })
        try opened.commit(2000, of: &source)
        waitUntil { opened.persistence.status.storedRevision > Opened.startRevision }
        #expect(opened.persistence.finish() == .written)
        let again = try Persistence(opening: folder.data, startRevision: 0)
        #expect(again.storedRevision <= bound)
        #expect(try Opened.read(again).0 == source.model)
        _ = again.finish()
    }

    @Test
    func `the view is exact while the writer runs, also for the shell`() throws {
        var source = CommitSource(seed: 5, after: Opened.startRevision, nameCount: 300)
        let opened = try Opened(folder.data, .standard, tuning)
        for _ in 0..<10 {
            try opened.commit(100, of: &source)
            let lines = try shell(
                folder.data + "/latchkey.db",
                "select name, value, revision, created, ifnull(expiry, 'never') from properties "
                    + "order by name"
            ).split(separator: "\n").map(String.init)
            let expected = source.model.entries.sorted { $0.key < $1.key }.map { name, entry in
                let expiry = entry.expiry == .max ? "never" : "\(entry.expiry)"
                return "\(name)|\(entry.value)|\(entry.revision)|\(entry.created)|\(expiry)"
            }
            #expect(lines == expected)
        }
        #expect(opened.persistence.status.health == .healthy)
        #expect(opened.persistence.finish() == .written)
    }

    @Test
    func `many bytes are compacted although the history had all of them when they became many`()
        throws
    {
        var tuning = disk.tuning
        tuning.roundByteCountMin = 1 << 20
        var source = CommitSource(seed: 8, after: Opened.startRevision)
        let last = Guarded(Opened.startRevision)
        // The history has as many bytes.
        let opened = try Opened(
            folder.data,
            .standard,
            tuning,
            historyOldest: {
                max(Opened.startRevision, last.read { $0 } - 100)
            }
        )
        let value = "\"\(String(repeating: "x", count: 10_000))\""
        for index in 0..<600 {
            opened.persistence.append(try source.put("name/\(index % 50)", value), note: nil)
            last.write { $0 = source.model.revision }
            opened.waitUntilReleased(source.model.revision)
        }
        waitUntil { opened.persistence.statistics.compactionRounds.value > 0 }
        try opened.expectEnd(source.model)
    }

    @Test
    func `a restart beside a reader writes at once`() throws {
        var source = CommitSource(seed: 9, after: Opened.startRevision)
        let killed = try Opened(folder.data, .standard, disk.tuning)
        killed.commit(try source.next())
        let copy = try disk.copy(folder, killed)
        #expect(killed.persistence.finish() == .written)
        let opened = try Opened(copy)
        let reader = try Connection(copy + "/latchkey.db")
        try reader.execute("begin")
        _ = try reader.integer("select count(*) from changes")
        opened.commit(try source.next())
        try reader.execute("commit")
        try opened.expectEnd(source.model)
    }

    @Test
    func `compaction keeps up with transactions of many steps`() throws {
        var source = CommitSource(seed: 11, after: Opened.startRevision, nameCount: 700)
        let opened = try Opened(folder.data, .standard, tuning)
        var rowCount = 0
        // A round is planned by a thread of its own, which can come late: the load goes on for as
        // long. If compaction does not keep up, its share of all rows does not shrink.
        for index in 0..<4000 {
            guard index < 400 || opened.persistence.status.changeCount >= rowCount / 4 else {
                break
            }
            let commit = try source.next(effectCountMax: 200)
            rowCount += 1 + commit.others.count
            opened.persistence.append(commit, note: nil)
            // Some commits always wait, so that the writer has no time for compaction alone.
            opened.waitUntilReleased(source.model.revision - 8)
        }
        #expect(rowCount > 30_000)
        #expect(opened.persistence.status.changeCount < rowCount / 4)
        try opened.expectEnd(source.model)
    }

    @Test
    func `rows whose removal takes long are removed one by one`() throws {
        var tuning = tuning
        tuning.removalNanoseconds = 0...0
        var source = CommitSource(seed: 12, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, tuning)
        // Syncs of the batches count, too: a slow machine removes rows before the last batch is
        // written.
        let before = opened.persistence.statistics.syncs.value
        try opened.commit(600, of: &source)
        waitUntil {
            opened.persistence.status.compactionProgress == nil
                && opened.persistence.status.storedRevision > Opened.startRevision
        }
        // Removals of 100, 25, 6 and 1 row; then one row a transaction: 180 to 1,080 syncs, fewer
        // the slower the machine is. Of removals of 100 rows there are 8 to 13.
        #expect(opened.persistence.statistics.syncs.value > before + 75)
        try opened.expectEnd(source.model)
    }

    @Test
    func `a program that writes while the data is read is noticed`() throws {
        var source = CommitSource(seed: 10, after: Opened.startRevision)
        let first = try Opened(folder.data)
        for _ in 0..<10 { first.persistence.append(try source.next(), note: nil) }
        #expect(first.persistence.finish() == .written)
        let persistence = try Persistence(opening: folder.data, startRevision: 0)
        #expect(
            try shell(folder.data + "/latchkey.db", "delete from changes where row = 3").isEmpty
        )
        let hasFailed = Guarded(false)
        try persistence.start(
            historyOldest: { 0 },
            noteLifetime: .seconds(1),
            released: { _, _ in },
            failed: { hasFailed.write { $0 = true } }
        )
        persistence.append(try source.next(), note: nil)
        hasFailed.read(when: { $0 }, { _ in })
        #expect(persistence.status.health != .healthy && persistence.unavailability == .failing)
        #expect(persistence.finish() == .failed)
    }

    @Test
    func `the log stays bounded, and writes are held while a reader holds it`() throws {
        var settings = PersistenceSettings()
        settings.logByteCountMax = 1 << 20
        var source = CommitSource(seed: 6, after: Opened.startRevision)
        let opened = try Opened(folder.data, settings, tuning)
        for _ in 0..<2000 { opened.commit(try source.next()) }
        #expect(opened.persistence.status.logByteCount < 1 << 20)
        let reader = try Connection(folder.data + "/latchkey.db")
        try reader.execute("begin")
        _ = try reader.integer("select count(*) from changes")
        var fate = Opened.Fate.written
        while fate == .written { fate = opened.fate(of: try source.next()) }
        #expect(fate == .held(.failing))
        #expect(opened.persistence.status.logByteCount < 2 << 20)
        try reader.execute("commit")
        waitUntil { opened.persistence.status.health == .healthy }
        opened.commit(try source.next())
        try opened.expectEnd(source.model)
    }
}
