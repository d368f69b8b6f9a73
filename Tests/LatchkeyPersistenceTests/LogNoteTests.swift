import CLatchkeyFaults
import CSQLite
import Foundation
import Glibc
import LatchkeyMetrics
import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// A loss of a log or of a part of it.
private enum Loss: CaseIterable {
    case missing, emptied, zeroed, headerOnly, cutInTheMiddle, cutAtItsEnd, otherLog

    func apply(to files: inout DataFiles, _ frameCount: Int, _ other: Data) throws {
        let log = try #require(files.log)
        let header = LogScan.headerByteCount
        // After the end, there can be the rest of an earlier log.
        let end = header + frameCount * LogScan.frameByteCount
        files.log =
            switch self {
            case .missing: nil
            case .emptied: Data()
            case .zeroed: Data(count: log.count)
            case .headerOnly: log.prefix(header)
            case .cutInTheMiddle: log.prefix((header + end) / 2)
            case .cutAtItsEnd: log.prefix(end - 1)
            case .otherLog: other
            }
    }
}

/// The history of a folder: each has commits in its log.
private enum State: CaseIterable {
    case new, newWithMany, restarted, restartedBySQLite, secondStart, afterKill, onlyOpened
    case afterFailedSync, copied, compacting
}

@Suite("Notes about the log", .timeLimit(.minutes(15)))
struct LogNoteTests {
    private let folder: TemporaryFolder
    private let disk = FaultyDisk()

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Each commit is noted at once.
    private var tuning: Tuning {
        var tuning = disk.tuning
        tuning.noteInterval = .zero
        return tuning
    }

    private func failure(_ path: String) -> PersistenceFailure? {
        do throws(PersistenceFailure) {
            _ = try Persistence(opening: path, startRevision: 1).finish()
            return nil
        } catch {
            return error
        }
    }

    private func notes(_ path: String) throws -> LogNotes {
        let lock = path + "/latchkey.lock"
        let descriptor = unsafe open(lock, O_RDONLY)
        defer { close(descriptor) }
        return try LogNotes(descriptor, lock)
    }

    private static let checkpointFrameCount = 40

    /// A folder as a killed process leaves it, and what it has.
    private func make(_ state: State) throws -> (path: String, model: Model) {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        var tuning = tuning
        switch state {
        case .restarted: tuning.restartFrameCount = 20
        case .restartedBySQLite: tuning.checkpointFrameCount = Self.checkpointFrameCount
        case .compacting: tuning.roundCountMin = 20
        default: break
        }
        var opened = try Opened(folder.data, .standard, tuning)
        if state != .restartedBySQLite {
            try opened.commit(state == .new ? 1 : 60, of: &source)
        }
        switch state {
        case .secondStart:
            #expect(opened.persistence.finish() == .written)
            opened = try Opened(folder.data, .standard, tuning)
            try opened.commit(3, of: &source)
        case .afterKill, .onlyOpened:
            let copy = try disk.copy(folder, opened)
            #expect(opened.persistence.finish() == .written)
            try DataFiles(copy).write(to: folder.data)
            opened = try Opened(folder.data, .standard, tuning)
            if state == .afterKill { try opened.commit(3, of: &source) }
        case .afterFailedSync:
            let before = source
            disk.fail(Int(LATCHKEY_FAULTS_SYNC), SQLITE_IOERR | 4 << 8, EIO)
            #expect(opened.fate(of: try source.next()) == .failed)
            disk.stop()
            #expect(opened.persistence.finish() == .failed)
            opened = try Opened(folder.data, .standard, tuning)
            // The commit before a failed sync is there, or is not.
            if opened.model == before.model { source = before }
            try opened.commit(3, of: &source)
        case .copied:
            let copy = try disk.copy(folder, opened)
            #expect(opened.persistence.finish() == .written)
            var files = DataFiles(copy)
            files.lock = nil
            try files.write(to: folder.data)
            opened = try Opened(folder.data, .standard, tuning)
        case .restartedBySQLite:
            // One checkpoint, which copies the whole log: the next commit begins another one.
            let log = folder.data + "/latchkey.db-wal"
            while try LogScan(log).frameCount < Self.checkpointFrameCount {
                opened.commit(try source.next())
            }
            waitUntil { opened.persistence.statistics.checkpoints.value > 0 }
            let salts = try LogScan(log).salts
            try opened.commit(3, of: &source)
            #expect(try LogScan(log).salts != salts)
        case .new, .newWithMany, .restarted, .compacting: break
        }
        let copy = try disk.copy(folder, opened)
        #expect(opened.persistence.finish() == .written)
        return (copy, source.model)
    }

    @Test(arguments: State.allCases)
    private func `a log that is gone or shorter is damage`(state: State) throws {
        let (path, model) = try make(state)
        let whole = DataFiles(path)
        // Frames of a transaction under way, such as a compaction, come after this count.
        let frameCount = try notes(path).frameCount
        #expect(frameCount > 0)
        let other = try LogNoteTests().otherLog()
        for loss in Loss.allCases {
            var files = whole
            try loss.apply(to: &files, frameCount, other)
            try files.write(to: path)
            let found = try #require(failure(path), "\(loss)")
            #expect(found.code == .damaged && found.message.contains("latchkey recover"))
            #expect(DataFiles(path) == files, "\(loss): a refused folder is as it was")
            #expect(try Persistence.check(path).damages.first == found.message)
            #expect(throws: PersistenceFailure.self) {
                try Persistence.checkStart(path, mayBeInUse: false)
            }
            #expect(throws: PersistenceFailure.self) {
                try Persistence.backup(of: path, into: path + ".backup")
            }
            #expect(!(try Persistence.recover(path, acceptLoss: false).losses.isEmpty))
            #expect(DataFiles(path) == files, "\(loss): what only says the losses writes nothing")
            #expect(try Persistence.recover(path, acceptLoss: true).isDone)
            #expect(try Opened.read(path).revision > model.revision, "\(loss)")
            #expect(try Persistence.check(path).damages.isEmpty)
        }
        try whole.write(to: path)
        #expect(try Opened.read(path) == model)
    }

    /// A log of another database.
    private func otherLog() throws -> Data {
        try #require(DataFiles(make(.newWithMany).path).log)
    }

    @Test
    func `an older log is not taken for the one that counts`() throws {
        var tuning = tuning
        tuning.restartFrameCount = 20
        var source = CommitSource(seed: 2, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, tuning)
        opened.commit(try source.next())
        let older = try DataFiles(disk.copy(folder, opened)).log
        var known: [Model] = []
        for _ in 0..<60 {
            opened.commit(try source.next())
            known.append(source.model)
        }
        let path = try disk.copy(folder, opened)
        #expect(opened.persistence.finish() == .written)
        var files = DataFiles(path)
        files.log = older
        try files.write(to: path)
        #expect(failure(path)?.code == .damaged)
        // Nor does a recovery use it.
        #expect(try Persistence.recover(path, acceptLoss: true).isDone)
        #expect(try Persistence.check(path).damages.isEmpty)
        let found = try Opened.read(path).entries
        #expect(known.contains { $0.entries == found })
    }

    @Test
    func `a copy without the lock is opened, which is said`() throws {
        let (path, model) = try make(.newWithMany)
        try FileManager.default.removeItem(atPath: path + "/latchkey.lock")
        // Programs that only read take it, too.
        #expect(try Persistence.check(path).lastRevision == model.revision)
        _ = try Persistence.backup(of: path, into: path + ".backup")
        try FileManager.default.removeItem(atPath: path + "/latchkey.lock")
        let events = Guarded<[String]>([])
        var revision = model.revision
        for start in 0..<2 {
            let persistence = try Persistence(opening: path, startRevision: 1) { _, event, _ in
                events.write { $0.append(event) }
            }
            #expect(try Opened.read(persistence).0.entries == model.entries)
            // The original may have gone on.
            let last = persistence.lastRevision
            #expect(start == 0 ? last > revision + 1 << 32 : last == revision)
            revision = last
            #expect(persistence.finish() == .written)
        }
        #expect(events.read { $0 } == ["log-is-not-noted"])
        // Before a service has opened it, nothing tells an empty log from one that is gone.
        try Data("This folder".utf8).write(to: URL(filePath: path + "/latchkey.lock"))
        #expect(failure(path) == nil)
    }

    @Test
    func `notes that cannot be read are damage, and recover makes new ones`() throws {
        let (path, model) = try make(.newWithMany)
        var lock = try Data(contentsOf: URL(filePath: path + "/latchkey.lock"))
        for place in [50, 4096 + 50] { lock[place] ^= 1 }
        try lock.write(to: URL(filePath: path + "/latchkey.lock"))
        let found = try #require(failure(path))
        #expect(found.code == .damaged && found.message.contains("latchkey.lock"))
        #expect(try Persistence.recover(path, acceptLoss: true).isDone)
        #expect(try Opened.read(path).entries == model.entries)
    }

    /// The note that is written is torn, or lost.
    @Test
    func `each change of a note leaves one that is right`() throws {
        let (path, model) = try make(.newWithMany)
        let files = DataFiles(path)
        let lock = try #require(files.lock)
        let latest = lock[40] > lock[4096 + 40] ? 0 : 4096
        for place in 40..<80 where lock[latest + place] != 0 {
            var torn = files
            torn.lock?[latest + place] = 0
            try torn.write(to: path)
            #expect(try Opened.read(path) == model)
        }
    }

    @Test
    func `after a clean end, damage of either note loses nothing`() throws {
        var source = CommitSource(seed: 5, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, tuning)
        try opened.commit(20, of: &source)
        #expect(opened.persistence.finish() == .written)
        let files = DataFiles(folder.data)
        for place in [50, 4096 + 50] {
            var damaged = files
            damaged.lock?[place] ^= 1
            try damaged.write(to: folder.data)
            #expect(try Opened.read(folder.data) == source.model)
        }
    }

    @Test
    func `frames are noted without a further commit, and when there are many`() throws {
        var source = CommitSource(seed: 6, after: Opened.startRevision)
        var tuning = tuning
        // Longer than some commits take: the last frames are noted only after this time.
        tuning.noteInterval = .milliseconds(100)
        let opened = try Opened(folder.data, .standard, tuning)
        try opened.commit(20, of: &source)
        let frameCount = try LogScan(folder.data + "/latchkey.db-wal").frameCount
        waitUntil { (try? notes(folder.data).frameCount) == frameCount }
        #expect(opened.persistence.finish() == .written)

        tuning.noteInterval = .seconds(86_400)
        tuning.checkpointFrameCount = 20
        let again = try Opened(folder.data, .standard, tuning)
        for _ in 0..<60 {
            again.commit(try source.next())
            let scan = try LogScan(folder.data + "/latchkey.db-wal")
            #expect(try scan.frameCount - notes(folder.data).frameCount < 20)
        }
        #expect(again.persistence.finish() == .written)
    }

    @Test
    func `commits of a damaged log that the database has are recovered`() throws {
        let (path, model) = try make(.newWithMany)
        // Another program can copy the log into the database, and leaves it as it is.
        let frozen = DataFiles(path)
        #expect(try shell(path + "/latchkey.db", "pragma wal_checkpoint(passive)").hasPrefix("0"))
        var files = frozen
        files.database = DataFiles(path).database
        let header = LogScan.headerByteCount
        for spoil in [
            { (log: inout Data) in log[header + 2 * LogScan.frameByteCount + 100] ^= 1 },
            { (log: inout Data) in log = log.prefix(header + 2 * LogScan.frameByteCount) },
        ] {
            var spoilt = files
            spoil(&spoilt.log!)
            try spoilt.write(to: path)
            #expect(failure(path)?.code == .damaged)
            #expect(try Persistence.recover(path, acceptLoss: true).isDone)
            #expect(try Opened.read(path).entries == model.entries)
        }
    }

    /// The header of the database still has the earlier format then.
    @Test
    func `a log that is lost after an upgrade beside a reader is damage`() throws {
        let path = try make(.newWithMany).path
        let connection = try Connection(path + "/latchkey.db")
        try connection.execute(
            "begin; delete from meta where key like 'skip%'; pragma user_version = 2; commit"
        )
        try connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
        try Data("This folder has a database of latchkey.\n".utf8)
            .write(to: URL(filePath: path + "/latchkey.lock"))
        try connection.execute("begin")
        _ = try connection.integer("select count(*) from stored")
        let opened = try Opened(path, .standard, tuning)
        try connection.execute("commit")
        var source = CommitSource(seed: 9, after: opened.persistence.lastRevision)
        try opened.commit(3, of: &source)
        var files = DataFiles(path)
        #expect(opened.persistence.finish() == .written)
        #expect(files.database?[63] == 2)
        files.log = nil
        try files.write(to: path)
        #expect(failure(path)?.code == .damaged)
    }

    @Test
    func `a folder of the second format is taken as it is, once`() throws {
        var (path, model) = try make(.secondStart)
        // The second format: no numbers of skipped revisions, and no notes.
        let connection = try Connection(path + "/latchkey.db")
        try connection.execute(
            "begin; delete from meta where key like 'skip%'; pragma user_version = 2; commit"
        )
        try connection.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
        try connection.execute("insert into notes values(5, 6, 7, x''); delete from notes")
        let line = Data("This folder has a database of latchkey.\n".utf8)
        var files = DataFiles(path)
        files.lock = line
        #expect((files.log?.count ?? 0) > 0)
        try files.write(to: path + "-2")
        path += "-2"
        // Programs that only read leave it as it is.
        #expect(try Persistence.check(path).damages.isEmpty)
        #expect(DataFiles(path).lock == line)
        #expect(try Opened.read(path) == model)
        #expect(try shell(path + "/latchkey.db", "pragma user_version") == "3\n")
        let opened = try Opened(path, .standard, tuning)
        var source = CommitSource(seed: 9, after: model.revision)
        opened.commit(try source.next())
        var again = DataFiles(path)
        #expect(opened.persistence.finish() == .written)
        again.log = nil
        try again.write(to: path)
        #expect(failure(path)?.code == .damaged)
    }

    @Test
    func `a log that another program has emptied is known after a restart`() throws {
        var source = CommitSource(seed: 3, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, tuning)
        try opened.commit(20, of: &source)
        let model = source.model
        let statement = "pragma wal_checkpoint(truncate)"
        #expect(try shell(folder.data + "/latchkey.db", statement).hasPrefix("0"))
        #expect(opened.fate(of: try source.next()) == .failed)
        #expect(opened.persistence.finish() == .failed)
        #expect(try Opened.read(folder.data) == model)
    }

    /// Syncs for notes: two for a new log, and one for its first commit.
    @Test
    func `few notes are written, however many commits there are`() throws {
        var source = CommitSource(seed: 4, after: Opened.startRevision)
        var tuning = tuning
        tuning.noteInterval = .seconds(86_400)
        let opened = try Opened(folder.data, .standard, tuning)
        let before = try notes(folder.data).number
        for _ in 0..<500 { opened.commit(try source.next()) }
        #expect(opened.persistence.statistics.syncs.value >= 500)
        // One note for the begin of the log, and one for its first frames.
        #expect(try notes(folder.data).number - before == 2)
        #expect(opened.persistence.finish() == .written)
    }
}
