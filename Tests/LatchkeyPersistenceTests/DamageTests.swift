import Foundation
import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// A data folder of a killed process, and its states.
private struct Sample {
    let folder: TemporaryFolder
    let path: String
    let database: [UInt8]
    let log: [UInt8]
    /// The notes about the log.
    let lock: [UInt8]
    /// The state after each commit of the log.
    var states: [Revision: Model] = [:]
    /// The state after each commit of the database, which may have been compacted in part.
    var earlier: [Model] = []
    let final: Model

    /// With rows in both tables, and commits of one transaction each in the log.
    init(seed: UInt64) throws {
        folder = try TemporaryFolder()
        let disk = FaultyDisk()
        var tuning = disk.tuning
        tuning.roundCountMin = 300
        var source = CommitSource(seed: seed, after: Opened.startRevision, nameCount: 150)
        let first = try Opened(folder.data, .standard, tuning)
        for _ in 0..<400 {
            first.persistence.append(try source.next(), note: [1])
            first.waitUntilReleased(source.model.revision)
            earlier.append(source.model)
        }
        waitUntil { first.persistence.status.compactionProgress == nil }
        guard first.persistence.finish() == .written else { throw CancellationError() }
        let second = try Opened(folder.data, .standard, disk.tuning)
        states[source.model.revision] = source.model
        for _ in 0..<30 {
            second.persistence.append(try source.next(), note: [2])
            second.waitUntilReleased(source.model.revision)
            states[source.model.revision] = source.model
        }
        final = source.model
        path = try disk.copy(folder, second)
        _ = second.persistence.finish()
        database = try Array(Data(contentsOf: URL(filePath: path + "/latchkey.db")))
        log = try Array(Data(contentsOf: URL(filePath: path + "/latchkey.db-wal")))
        lock = try Array(Data(contentsOf: URL(filePath: path + "/latchkey.lock")))
    }

    /// Opens the folder with other bytes in one file.
    func open(_ name: String, _ bytes: [UInt8]) throws -> Model {
        name.hasSuffix("-wal") ? try open(log: bytes) : try open(database: bytes)
    }

    /// Writes both files, one of them changed, and opens the folder.
    func open(database: [UInt8]? = nil, log: [UInt8]? = nil) throws -> Model {
        try Data(database ?? self.database).write(to: URL(filePath: path + "/latchkey.db"))
        try Data(log ?? self.log).write(to: URL(filePath: path + "/latchkey.db-wal"))
        try Data(lock).write(to: URL(filePath: path + "/latchkey.lock"))
        try? FileManager.default.removeItem(atPath: path + "/latchkey.db-shm")
        let persistence = try Persistence(opening: path, startRevision: 0)
        defer { _ = persistence.finish() }
        return try Opened.read(persistence).0
    }
}

@Suite("Damage", .timeLimit(.minutes(30)))
struct DamageTests {
    /// How many changes of a file each test makes.
    private static let count =
        ProcessInfo.processInfo.environment["LATCHKEY_DAMAGE_COUNT"].flatMap { Int($0) } ?? 100

    @Test(arguments: ["latchkey.db", "latchkey.db-wal"])
    func `a flipped bit leaves the right state, or is refused`(name: String) throws {
        let sample = try Sample(seed: 1)
        var random = SeededGenerator(11)
        var refusedCount = 0
        let last = try #require(sample.states[sample.final.revision - 1])
        for _ in 0..<Self.count {
            let isLog = name.hasSuffix("-wal")
            var bytes = isLog ? sample.log : sample.database
            let bit = Int.random(in: 0..<bytes.count * 8, using: &random)
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            do {
                let state = try sample.open(name, bytes)
                // The last transaction in a log, which can be torn.
                let isRight = state == sample.final || isLog && state == last
                #expect(isRight, "bit \(bit) of \(name): revision \(state.revision)")
            } catch let failure as PersistenceFailure {
                refusedCount += 1
                #expect(!failure.message.isEmpty)
            }
        }
        // Many bits of the database are in free pages, or in pages that the log has, too.
        #expect(refusedCount > Self.count / 20)
    }

    /// A log that is cut off has whole commits up to there.
    @Test(arguments: ["latchkey.db", "latchkey.db-wal"])
    func `a file that is cut off leaves the right state, or is refused`(name: String) throws {
        let isLog = name.hasSuffix("-wal")
        let sample = try Sample(seed: isLog ? 3 : 2)
        let bytes = isLog ? sample.log : sample.database
        var random = SeededGenerator(isLog ? 13 : 12)
        for _ in 0..<Self.count / 4 {
            let end = Int.random(in: 0..<bytes.count, using: &random)
            do {
                let state = try sample.open(name, Array(bytes[..<end]))
                let expected = isLog ? sample.states[state.revision] : sample.final
                #expect(state == expected, "\(end) bytes")
            } catch is PersistenceFailure {}
        }
    }

    @Test
    func `a torn last transaction is no damage`() throws {
        let sample = try Sample(seed: 4)
        var random = SeededGenerator(14)
        let last = try #require(sample.states[sample.final.revision - 1])
        let frame = LogScan.frameByteCount
        let end = LogScan.headerByteCount + sample.log.count / frame * frame
        for _ in 0..<10 {
            // Some sectors of the last frame are those that were there before: nothing.
            var log = Array(sample.log[..<end])
            for sector in stride(from: end - frame, to: end, by: 512)
            where Bool.random(using: &random) || sector == end - frame {
                log.replaceSubrange(
                    sector..<min(sector + 512, end),
                    with: repeatElement(0, count: min(512, end - sector))
                )
            }
            #expect(try sample.open(log: log) == last)
        }
    }

    @Test
    func `damage of a frame's head before the last transaction is found`() throws {
        let folder = try TemporaryFolder()
        let disk = FaultyDisk()
        var source = CommitSource(seed: 6, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning)
        // Transactions of one frame, so that no further frame of the same transaction follows.
        for index in 0..<12 { opened.commit(try source.put("name/\(index)", "1")) }
        let file = try disk.copy(folder, opened) + "/latchkey.db-wal"
        #expect(opened.persistence.finish() == .written)
        let log = try Array(Data(contentsOf: URL(filePath: file)))
        let last = try LogScan(file).frameCount
        func damage(_ change: (inout [UInt8]) -> Void) throws -> Int? {
            var bytes = log
            change(&bytes)
            try Data(bytes).write(to: URL(filePath: file))
            return try LogScan(file).damage?.frame
        }
        for index in [last - 3, last - 2, last - 1] {
            let head = LogScan.headerByteCount + (index - 1) * LogScan.frameByteCount
            for bit in 0..<LogScan.frameHeaderByteCount * 8 {
                let found = try damage { $0[head + bit / 8] ^= 1 << UInt8(bit % 8) }
                #expect(found == index, "frame \(index) of \(last), bit \(bit)")
            }
            // The field that says that the transaction ends here.
            let found = try damage {
                $0.replaceSubrange(head + 4..<head + 8, with: [0, 0, 0, 0])
            }
            #expect(found == index)
            // The whole head: its checksum is lost, too, so the next frame cannot be tried.
            if index < last - 1 {
                let sector = head / 512 * 512
                let found = try damage {
                    $0.replaceSubrange(
                        sector..<sector + 512,
                        with: repeatElement(0, count: 512)
                    )
                }
                #expect(found != nil)
            }
        }
    }

    @Test
    func `a backup of a damaged folder is refused`() throws {
        let sample = try Sample(seed: 7)
        var log = sample.log
        log[LogScan.headerByteCount + 100] ^= 1
        try Data(log).write(to: URL(filePath: sample.path + "/latchkey.db-wal"))
        let file = sample.folder.path + "backup"
        #expect {
            try Persistence.backup(of: sample.path, into: file)
        } throws: { error in
            (error as? PersistenceFailure)?.code == .damaged
        }
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test
    func `recovery says what is lost, and loses no more`() throws {
        let sample = try Sample(seed: 5)
        let known = sample.earlier + sample.states.values
        var random = SeededGenerator(15)
        var doneCount = 0
        for index in 0..<20 {
            var (database, log) = (sample.database, sample.log)
            if index % 2 == 0 {
                database[Int.random(in: 4096..<database.count, using: &random)] ^= 16
            } else {
                log[Int.random(in: 32..<log.count - 3 * LogScan.frameByteCount, using: &random)] ^=
                    4
            }
            do {
                _ = try sample.open(database: database, log: log)
                continue
            } catch is PersistenceFailure {}
            let plan = try Persistence.recover(sample.path, acceptLoss: false)
            #expect(!plan.before.damages.isEmpty && !plan.isDone)
            #expect(throws: PersistenceFailure.self) {
                try Opened.read(sample.path)
            }
            let report = try Persistence.recover(sample.path, acceptLoss: true)
            #expect(report.isDone && report.losses == plan.losses)
            let kept = try #require(report.keptPath)
            #expect(FileManager.default.fileExists(atPath: kept + "/latchkey.db"))
            doneCount += 1
            let state = try Opened.read(sample.path)
            #expect(state.revision > sample.final.revision + 1 << 31)
            for (name, entry) in state.entries {
                // A property that is there has a value that it had.
                let isKnown = known.contains { $0.entries[name] == entry }
                #expect(isKnown, "\(name)")
            }
            #expect(try Persistence.check(sample.path).damages.isEmpty)
            try FileManager.default.removeItem(atPath: kept)
        }
        #expect(doneCount > 5)
    }

    @Test
    func `recovery keeps every commit in front of the damage`() throws {
        let folder = try TemporaryFolder()
        var source = CommitSource(seed: 3, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        var states: [Revision: Model] = [:]
        for _ in 0..<40 {
            opened.persistence.append(try source.next(), note: nil)
            states[source.model.revision] = source.model
        }
        #expect(opened.persistence.finish() == .written)
        let database = folder.data + "/latchkey.db"
        let statement = "update changes set checksum = checksum + 1 where revision = "
        #expect(try shell(database, statement + "\(Opened.startRevision + 30)").isEmpty)
        let report = try Persistence.recover(folder.data, acceptLoss: true)
        #expect(report.isDone && report.losses.count == 1)
        let kept = try #require(states[Opened.startRevision + 29])
        #expect(try Opened.read(folder.data).entries == kept.entries)
        // There is no history from the beginning on, although there are properties.
        let recovered = try Persistence(opening: folder.data, startRevision: 1)
        #expect(recovered.startRevision == Opened.startRevision)
        #expect(recovered.historyRevision > recovered.startRevision)
        _ = recovered.finish()
    }
}

@Suite("Backup and restore", .timeLimit(.minutes(15)))
struct BackupTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test
    func `a backup of a running database restores its state with later revisions`() throws {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        try opened.commit(300, of: &source)
        let file = folder.path + "backup.db"
        let backup = try Persistence.backup(of: folder.data, into: file)
        #expect(backup.damages.isEmpty && backup.lastRevision == source.model.revision)
        // It does not count as a foreign writer.
        let before = source.model
        opened.commit(try source.next())
        #expect(throws: PersistenceFailure.self) {
            try Persistence.backup(of: folder.data, into: file)
        }
        #expect(throws: PersistenceFailure.self) {
            try Persistence.restore(file, into: folder.data)
        }
        #expect(opened.persistence.finish() == .written)
        let restored = folder.path + "restored"
        let report = try Persistence.restore(file, into: restored)
        #expect(report.damages.isEmpty && report.propertyCount == before.entries.count)
        let state = try Opened.read(restored)
        #expect(state.entries == before.entries)
        #expect(state.revision >= before.revision + 1 << 32)
    }

    @Test
    func `a damaged backup is not restored`() throws {
        var source = CommitSource(seed: 2, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        for _ in 0..<100 { opened.persistence.append(try source.next(), note: nil) }
        #expect(opened.persistence.finish() == .written)
        let file = folder.path + "backup.db"
        _ = try Persistence.backup(of: folder.data, into: file)
        var bytes = try Array(Data(contentsOf: URL(filePath: file)))
        let place = try #require(bytes.lastIndex(of: UInt8(ascii: "x")))
        bytes[place] = UInt8(ascii: "y")
        try Data(bytes).write(to: URL(filePath: file))
        #expect(throws: PersistenceFailure.self) {
            try Persistence.restore(file, into: folder.path + "restored")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path + "restored"))
    }
}
