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
    /// What is free, the reserve included.
    private let free = Guarded(700 * mebibyte)
    private var reserve: String { folder.data + "/latchkey.reserve" }
    private var reserveByteCount: Int? { Folder.byteCount(reserve) }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func tuning(diskByteCount: Int = 1 << 30) -> Tuning {
        var tuning = disk.tuning
        tuning.space = { [free, reserve] _ in
            let reserveByteCount = Folder.byteCount(reserve) ?? 0
            return DiskSpace(
                freeByteCount: free.read { $0 } - reserveByteCount,
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
        guard case .failed(_, endsByItself: true) = opened.persistence.health else {
            Issue.record("A low disk is not ready.")
            return
        }
        // There are two floors, but no reserve beside them.
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

    /// The file of a database does not get shorter.
    @Test func `what is free within the database is room, once it is compacted`() throws {
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
            }
            frees(mebibyte)
            let opened = try Opened(folder.data, .standard, tuning())
            waitUntil { opened.persistence.unavailability == .low }
            #expect(unsafe access(reserve, F_OK) != 0)
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
        try opened.commit(1000, of: &source)
        try opened.expectEnd(source.model)
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
            #expect(try Persistence.check(copy).damages.isEmpty)
            let again = try Persistence(opening: copy, startRevision: 0)
            #expect(!isWhole || again.changeCount == 0)
            #expect(try Opened.read(again).0 == source.model)
            _ = again.finish()
            #expect(try FileManager.default.contentsOfDirectory(atPath: copy).count <= 5)
        }
    }
}
