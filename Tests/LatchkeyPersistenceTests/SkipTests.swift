import CLatchkeyFaults
import CSQLite
import Glibc
import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// Revisions that a replica skips while it runs, because another life of its log begins (issue 49).
@Suite("Skipped revisions", .timeLimit(.minutes(15)))
struct SkipTests {
    private let folder: TemporaryFolder
    private let disk = FaultyDisk()

    init() throws {
        folder = try TemporaryFolder()
    }

    private static let later: Revision = 1 << 33

    /// The position, and the revision, that a folder has which no process uses.
    private static func read(_ path: String) throws -> (position: [UInt8]?, Revision, Model) {
        let persistence = try Persistence(opening: path, startRevision: Opened.startRevision)
        defer { _ = persistence.finish() }
        let (model, _) = try Opened.read(persistence)
        return (try persistence.readPosition(), persistence.lastRevision, model)
    }

    @Test(arguments: [0, 1, 5], [0, 1, 5])
    func `a restart goes on after the skipped revisions, with the position of that moment`(
        before: Int,
        behind: Int
    ) throws {
        var source = CommitSource(seed: 49, after: Opened.startRevision)
        // Twice: the revisions before the second skip have gaps, too.
        for later in [Self.later, 2 * Self.later] {
            let opened = try Opened(folder.data, isGrouped: true)
            for _ in 0..<before { opened.persistence.append(try source.next(), note: nil) }
            opened.persistence.seal(through: source.model.revision, [1])
            opened.persistence.skip(through: later)
            try source.restart(source.model, after: later)
            for _ in 0..<behind { opened.persistence.append(try source.next(), note: nil) }
            opened.persistence.seal(through: source.model.revision, [2])
            #expect(opened.persistence.finish() == .written)
            let (position, revision, model) = try Self.read(folder.data)
            #expect(position == [2])
            #expect(revision == source.model.revision)
            #expect(model.entries == source.model.entries)
        }
        let persistence = try Persistence(opening: folder.data, startRevision: 1)
        // The history before them is not known any more.
        #expect(persistence.historyRevision >= 2 * Self.later)
        _ = persistence.finish()
    }

    @Test func `a process that is killed leaves the revision that its position has`() throws {
        var source = CommitSource(seed: 50, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning, isGrouped: true)
        var positions: Set<[UInt8]?> = []
        func look(_ path: String) throws {
            let (position, revision, _) = try Self.read(path)
            let text = position.map { String(decoding: $0, as: UTF8.self) }
            #expect(text ?? "\(Opened.startRevision)" == "\(revision)")
            positions.insert(position)
        }
        for number in 0..<6 {
            if number % 2 == 1 {
                let later = UInt64(number) * Self.later
                opened.persistence.skip(through: later)
                try source.restart(source.model, after: later)
                try look(disk.copy(folder, opened))
            }
            if number % 3 > 0 { opened.persistence.append(try source.next(), note: nil) }
            let revision = source.model.revision
            opened.persistence.seal(through: revision, Array("\(revision)".utf8))
            try look(disk.copy(folder, opened))
        }
        #expect(opened.persistence.finish() == .written)
        try look(folder.data)
        #expect(positions.count > 1)
    }

    @Test func `a skip of revisions waits for a full disk, until the end`() throws {
        var source = CommitSource(seed: 51, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning, isGrouped: true)
        let calls = Int(LATCHKEY_FAULTS_WRITE) | Int(LATCHKEY_FAULTS_LOG)
        disk.fail(calls, SQLITE_FULL, ENOSPC)
        // The first batch is taken by the writer, and the second one waits.
        for number in 0..<2 {
            opened.persistence.append(try source.next(), note: nil)
            opened.persistence.seal(through: source.model.revision, [1])
            if number == 0 { waitUntil { opened.persistence.status.health != .healthy } }
        }
        let writer = TestThread { opened.persistence.skip(through: Self.later) }
        opened.persistence.takesAll()
        #expect(writer.join())
        // They are in the log of the cluster.
        try source.restart(source.model, after: Self.later)
        opened.commit(try source.next())
        opened.persistence.seal(through: source.model.revision, [2])
        #expect(opened.persistence.finish() == .full, "it is not on the disk")
        let (position, revision, _) = try Self.read(folder.data)
        #expect(position == nil && revision == Opened.startRevision)
    }
}
