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

private let mebibyte = 1 << 20

@Suite("Room on the disk", .timeLimit(.minutes(15)))
struct RoomTests {
    private let disk = FaultyDisk()
    private let folder: TemporaryFolder
    /// The free bytes, the reserve and the log included.
    private let free = Guarded(700 * mebibyte)
    private var reserve: String { folder.data + "/latchkey.reserve" }
    private var reserveByteCount: Int? { Folder.byteCount(reserve) }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func tuning(diskByteCount: Int = 1 << 30) -> Tuning {
        var tuning = disk.tuning
        tuning.reserveByteCountMax = DiskRoom.reserveByteCountMax
        tuning.space = { [free, reserve, log = folder.data + "/latchkey.db-wal"] _ in
            let byteCount = (Folder.byteCount(reserve) ?? 0) + (Folder.byteCount(log) ?? 0)
            return DiskSpace(
                freeByteCount: free.read { $0 } - byteCount,
                byteCount: diskByteCount
            )
        }
        return tuning
    }

    private func frees(_ byteCount: Int) { free.write { $0 = byteCount } }

    @Test
    func `a low disk takes only what removes, until there is room for the reserve again`() throws {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let opened = try Opened(
            folder.data,
            .standard,
            tuning(),
            historyOldest: { Opened.startRevision }
        )
        waitUntil { reserveByteCount == 64 * mebibyte }
        #expect(opened.persistence.unavailability == nil)
        frees(79 * mebibyte)
        // A commit that is decided already is written all the same.
        opened.commit(try source.next())
        waitUntil { opened.persistence.unavailability == .low }
        #expect(reserveByteCount == nil)
        // There are eight batches, but no reserve beside them.
        frees(95 * mebibyte)
        try opened.commit(20, of: &source)
        #expect(opened.persistence.unavailability == .low)
        // The history is kept, since to drop it would not help.
        #expect(opened.persistence.status.storedRevision == Opened.startRevision)
        frees(100 * mebibyte)
        waitUntil { opened.persistence.unavailability == nil }
        #expect(reserveByteCount == 64 * mebibyte)
        #expect(opened.persistence.health == .healthy)
        #expect(opened.calls.read { $0.events } == ["disk-low", "disk-has-room"])
        try opened.expectEnd(source.model)
    }

    @Test func `a long log gives back what it has before the disk is low`() throws {
        let value = "\"" + String(repeating: "v", count: mebibyte) + "\""
        for isLow in [false, true] {
            let path = folder.data + "\(isLow)"
            var tuning = tuning()
            tuning.space = { [free, log = path + "/latchkey.db-wal"] _ in
                DiskSpace(
                    freeByteCount: free.read { $0 } - (Folder.byteCount(log) ?? 0),
                    byteCount: 1 << 30
                )
            }
            tuning.reserveByteCountMax = 0
            frees(700 * mebibyte)
            var own = CommitSource(seed: 6, after: Opened.startRevision)
            let opened = try Opened(path, .standard, tuning)
            for _ in 0..<24 { opened.commit(try own.put("n", value)) }
            // With a reader, the log cannot be shortened: the disk is low until the reader ends.
            let reader = isLow ? try Connection(path + "/latchkey.db", .read) : nil
            try reader?.execute("begin")
            _ = try reader?.integer("select count(*) from changes")
            frees(36 * mebibyte)
            opened.commit(try own.put("n", "1"))
            if isLow {
                waitUntil { opened.persistence.unavailability == .low }
                try reader?.execute("commit")
                waitUntil { opened.persistence.unavailability == nil }
            }
            let events: [String] = isLow ? ["disk-low", "disk-has-room"] : []
            #expect(opened.calls.read { $0.events } == events)
            #expect(opened.persistence.finish() == .written)
            #expect(try Opened.read(path) == own.model)
        }
    }

    /// The file of a database does not get shorter.
    @Test func `free pages of the database are room, once it is compacted`() throws {
        // A batch is 1 MiB.
        let tuning = tuning(diskByteCount: 32 * mebibyte)
        frees(50 * mebibyte)
        // The history would keep all of it.
        let opened = try Opened(
            folder.data,
            .standard,
            tuning,
            historyOldest: { Opened.startRevision }
        )
        waitUntil { reserveByteCount == 5 * mebibyte }
        var source = CommitSource(seed: 2, after: Opened.startRevision)
        let value = "\"" + String(repeating: "v", count: mebibyte) + "\""
        for index in 0..<8 { opened.commit(try source.put("n\(index)", value)) }
        frees(8 * mebibyte + mebibyte / 2)
        opened.commit(try source.delete("n0"))
        waitUntil { opened.persistence.unavailability == .low }
        for index in 1..<8 { opened.commit(try source.delete("n\(index)")) }
        waitUntil { opened.persistence.unavailability == nil }
        #expect(opened.persistence.status.storedRevision > Opened.startRevision)
        #expect(
            opened.calls.read { $0.events } == ["disk-low", "history-is-dropped", "disk-has-room"]
        )
        try opened.expectEnd(source.model)
    }

    @Test func `a start on a low disk gives up the reserve, and follows no link`() throws {
        let precious = folder.path + "precious"
        try Data("kept".utf8).write(to: URL(filePath: precious))
        var source = CommitSource(seed: 3, after: Opened.startRevision)
        for isLink in [false, true] {
            if isLink {
                try FileManager.default.createSymbolicLink(
                    atPath: reserve,
                    withDestinationPath: precious
                )
            } else {
                try FileManager.default.createDirectory(
                    atPath: folder.data,
                    withIntermediateDirectories: true
                )
                try Data(count: 1 << 16).write(to: URL(filePath: reserve))
                // A compaction was killed.
                try Data(count: 1 << 16).write(to: URL(filePath: folder.data + "/compacted.db"))
            }
            frees(mebibyte)
            let opened = try Opened(folder.data, .standard, tuning())
            waitUntil { opened.persistence.unavailability == .low }
            #expect(unsafe access(reserve, F_OK) != 0)
            #expect(Folder.byteCount(folder.data + "/compacted.db") == nil)
            frees(700 * mebibyte)
            waitUntil { opened.persistence.unavailability == nil }
            opened.commit(try source.next())
            try opened.expectEnd(source.model)
            try FileManager.default.removeItem(atPath: reserve)
        }
        #expect(try Data(contentsOf: URL(filePath: precious)) == Data("kept".utf8))
    }

    @Test func `a write that finds no room has the reserve, and is tried at once`() throws {
        var (source, tuning) = (CommitSource(seed: 4, after: Opened.startRevision), tuning())
        tuning.tryInterval = .seconds(86_400)
        let opened = try Opened(folder.data, .standard, tuning)
        waitUntil { reserveByteCount != nil }
        disk.fail(
            Int(LATCHKEY_FAULTS_WRITE) | Int(LATCHKEY_FAULTS_LOG),
            count: 1,
            SQLITE_FULL,
            ENOSPC
        )
        opened.commit(try source.next())
        #expect(opened.persistence.statistics.failures.value == 1)
        try opened.expectEnd(source.model)
    }

    @Test(arguments: [nil, SQLITE_FULL, SQLITE_IOERR | 3 << 8])
    func `a compacted folder has the same state, also where a write fails`(code: Int32?) throws {
        var source = CommitSource(seed: 5, after: Opened.startRevision, nameCount: 40)
        let opened = try Opened(folder.data, .standard, tuning())
        for index in 0..<1000 {
            let note = index % 50 == 0 ? CommitNote(author: nil, bytes: [UInt8(index / 50)]) : nil
            opened.persistence.append(try source.next(), note: note)
        }
        opened.waitUntilReleased(source.model.revision)
        #expect(opened.persistence.finish() == .written)
        #expect(unsafe chmod(folder.data + "/latchkey.db", 0o640) == 0)
        let (model, notes) = try Self.state(folder.data)
        #expect(model == source.model && notes.count > 10)
        var failedCount = 0
        let former = try Persistence.compact(folder.copy()).formerByteCount
        for first in stride(from: 0, to: 400, by: code == nil ? 400 : 7) {
            let copy = try folder.copy()
            if let code { disk.fail(Int(LATCHKEY_FAULTS_WRITE), first: first, code, ENOSPC) }
            var isWhole = true
            do throws(PersistenceFailure) {
                let report = try Persistence.compact(copy, tuning())
                #expect(report.formerByteCount == former)
                #expect((report.failure == nil) == (report.byteCount < former / 4))
                isWhole = report.failure == nil
            } catch {
                #expect(code != nil)
                isWhole = false
            }
            disk.stop()
            #expect(code != nil || isWhole)
            failedCount += isWhole ? 0 : 1
            #expect(try Persistence.check(copy).damages.isEmpty)
            let again = try Persistence(opening: copy, startRevision: 0)
            #expect(!isWhole || again.changeCount == 0)
            #expect(again.lastRevision == source.model.revision)
            _ = again.finish()
            #expect(try Self.state(copy) == (model, notes))
            var status = stat()
            #expect(unsafe stat(copy + "/latchkey.db", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o640)
            #expect(try FileManager.default.contentsOfDirectory(atPath: copy).count <= 5)
        }
        // Some failures come while changes are compacted, some in the copy, and some after that.
        #expect(code == nil || failedCount > 5)
    }

    @Test func `a folder is not compacted beside another program, or before it has data`() throws {
        var source = CommitSource(seed: 7, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, tuning())
        try opened.commit(10, of: &source)
        try opened.expectEnd(source.model)
        let reader = try Connection(folder.data + "/latchkey.db", .read)
        _ = try reader.integer("select count(*) from changes")
        let error = #expect(throws: PersistenceFailure.self) {
            try Persistence.compact(folder.data, tuning())
        }
        #expect(error?.code == .inUse)
        #expect(try reader.text("pragma quick_check") == "ok")
        try FileManager.default.createDirectory(
            atPath: folder.path + "empty",
            withIntermediateDirectories: true
        )
        #expect(throws: PersistenceFailure.self) { try Persistence.compact(folder.path + "empty") }
    }

    private static func state(_ path: String) throws -> (Model, [Revision: [UInt8]]) {
        let persistence = try Persistence(opening: path, startRevision: 0)
        defer { _ = persistence.finish() }
        return try Opened.read(persistence)
    }
}
