import Foundation
import Glibc
import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// Recoveries that a kill interrupts, and the advice.
@Suite(.timeLimit(.minutes(15)))
struct RecoveryTests {
    private let folder: TemporaryFolder
    private let files = FileManager.default

    init() throws {
        folder = try TemporaryFolder()
    }

    private func message(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch {
            return (error as? PersistenceFailure)?.message ?? "\(error)"
        }
    }

    /// A folder of a killed service with changes in its log, of which one in the database is
    /// damaged.
    private func makeDamaged() throws {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let first = try Opened(folder.data)
        try first.commit(20, of: &source)
        #expect(first.persistence.finish() == .written)
        let disk = FaultyDisk()
        let second = try Opened(folder.data, .standard, disk.tuning)
        for index in 0..<11 { second.commit(try source.put("late/\(index)", "1")) }
        let copy = try disk.copy(folder, second)
        #expect(second.persistence.finish() == .written)
        try files.removeItem(atPath: folder.data)
        try files.moveItem(atPath: copy, toPath: folder.data)
        // Damage in the middle of the log, after half of its commits.
        let log = folder.data + "/latchkey.db-wal"
        var bytes = try Array(Data(contentsOf: URL(filePath: log)))
        bytes[bytes.count / 2] ^= 1
        try Data(bytes).write(to: URL(filePath: log))
    }

    @Test
    func `a recovery that ends after any step is finished by the next one`() throws {
        try makeDamaged()
        #expect(unsafe chmod(folder.data + "/latchkey.db", 0o640) == 0)
        let source = folder.data
        let whole = folder.path + "/whole"
        try files.copyItem(atPath: source, toPath: whole)
        let losses = try Persistence.recover(whole, acceptLoss: true).losses
        let expected = try Opened.read(whole).entries
        #expect(!losses.isEmpty && expected.keys.contains { $0.hasPrefix("late/") })
        let steps = Replacement.Step.allCases
        for ended in steps.indices {
            let path = folder.path + "/interrupted\(ended)"
            try files.copyItem(atPath: source, toPath: path)
            do {
                let folder = try Folder(path, mayCreate: false)
                let part = folder.rescued + ".part"
                _ = try Rescue(folder, into: part, at: StoreClock.system.now())
                let replacement = Replacement(of: folder, by: part)
                for step in steps[..<ended] { try replacement.make(step) }
            }
            // No service starts with less than what is rescued.
            let advice = "'latchkey recover \(path) --accept-loss'"
            let refusal = message { _ = try Opened.read(path) }
            #expect(refusal.contains(advice), "after \(ended) steps: \(refusal)")
            #expect(try !Persistence.recover(path, acceptLoss: false).losses.isEmpty)
            let report = try Persistence.recover(path, acceptLoss: true)
            #expect(report.isDone, "after \(ended) steps")
            #expect(try Opened.read(path).entries == expected, "after \(ended) steps")
            var status = stat()
            #expect(unsafe stat(path + "/latchkey.db", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o640, "after \(ended) steps")
            let kept = try #require(report.keptPath)
            let names = try files.contentsOfDirectory(atPath: kept)
            let areKept = ["latchkey.db", "latchkey.db-wal"].allSatisfy(names.contains)
            #expect(areKept, "after \(ended) steps: \(names)")
            let left = try files.contentsOfDirectory(atPath: path)
                .filter { $0.hasPrefix("rescued") }
            #expect(left.isEmpty)
        }
    }

    @Test
    func `a new folder whose making ends after any step is finished by a recovery`() throws {
        var source = CommitSource(seed: 4, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        try opened.commit(20, of: &source)
        #expect(opened.persistence.finish() == .written)
        let steps = Replacement.Step.allCases
        for ended in 1...steps.count {
            let (path, file) = (folder.path + "/new\(ended)", folder.path + "/file\(ended)")
            _ = try Persistence.backup(of: folder.data, into: file)
            do {
                let replacement = Replacement(of: try Folder(path, mayCreate: true), by: file)
                for step in steps[..<ended] { try replacement.make(step) }
            }
            if ended < steps.count {
                let refusal = message { _ = try Opened.read(path) }
                let isAdvised = refusal.contains("'latchkey recover \(path) --accept-loss'")
                #expect(isAdvised, "after \(ended) steps: \(refusal)")
                #expect(try Persistence.recover(path, acceptLoss: true).isDone)
            }
            #expect(try Opened.read(path).entries == source.model.entries)
        }
    }

    /// As a process leaves it that is killed while it makes the database.
    @Test
    func `a journal that is left is not rolled back into what is restored`() throws {
        var source = CommitSource(seed: 3, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        try opened.commit(5, of: &source)
        #expect(opened.persistence.finish() == .written)
        let file = folder.path + "/backup.db"
        _ = try Persistence.backup(of: folder.data, into: file)
        let path = folder.path + "/restored"
        try files.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: path + "/latchkey.db"))
        // The magic bytes, no page, a number, no page before, the lengths of a sector and a page.
        var journal: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        journal += [0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 16, 0]
        journal += [UInt8](repeating: 0, count: 512 - journal.count)
        try Data(journal).write(to: URL(filePath: path + "/latchkey.db-journal"))
        #expect(try Persistence.restore(file, into: path).damages.isEmpty)
        #expect(try Opened.read(path).entries == source.model.entries)
    }

    @Test(arguments: [false, true])
    func `a recovery of a replica's folder says to take the state of another one`(
        isOfReplica: Bool
    ) throws {
        var source = CommitSource(seed: 5, after: Opened.startRevision)
        let opened = try Opened(folder.data, isGrouped: isOfReplica)
        for _ in 0..<5 { opened.persistence.append(try source.next(), note: nil) }
        if isOfReplica { opened.persistence.seal(through: source.model.revision, [1]) }
        #expect(opened.persistence.finish() == .written)
        let lock = folder.data + "/latchkey.lock"
        var bytes = try Data(contentsOf: URL(filePath: lock))
        for place in [50, 4096 + 50] { bytes[place] ^= 1 }
        try bytes.write(to: URL(filePath: lock))
        for accepts in [false, true] {
            let losses = try Persistence.recover(folder.data, acceptLoss: accepts).losses
            let isSaid = losses.contains { $0.contains("takes the state of another one") }
            #expect(isSaid == isOfReplica, "\(losses)")
        }
        #expect(try Opened.read(folder.data).entries == source.model.entries)
    }

    @Test
    func `where the database is missing, the advice is what works`() throws {
        let opened = try Opened(folder.data)
        #expect(opened.persistence.finish() == .written)
        let database = folder.data + "/latchkey.db"
        try files.moveItem(atPath: database, toPath: folder.path + "/aside")
        let advice = "put the file back, or restore a backup into another folder"
        for accepts in [false, true] {
            let recovery = message { _ = try Persistence.recover(folder.data, acceptLoss: accepts) }
            #expect(recovery.contains(advice), "\(recovery)")
        }
        let start = message { _ = try Persistence(opening: folder.data, startRevision: 1) }
        #expect(start.contains(advice) && !start.contains("--accept-loss"), "\(start)")
        try files.moveItem(atPath: folder.path + "/aside", toPath: database)
        _ = try Opened.read(folder.data)
    }

    @Test
    func `a damaged backup says to take another one`() throws {
        var source = CommitSource(seed: 2, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        try opened.commit(50, of: &source)
        #expect(opened.persistence.finish() == .written)
        let file = folder.path + "/backup.db"
        _ = try Persistence.backup(of: folder.data, into: file)
        let whole = try Array(Data(contentsOf: URL(filePath: file)))
        let place = try #require(whole.lastIndex(of: UInt8(ascii: "x")))
        for place in [place, 0] {
            var bytes = whole
            bytes[place] ^= 0x10
            try Data(bytes).write(to: URL(filePath: file))
            let reason = message {
                _ = try Persistence.restore(file, into: folder.path + "/restored")
            }
            #expect(reason.contains("Restore another backup."), "byte \(place): \(reason)")
            #expect(!reason.contains("recover"), "\(reason)")
            #expect(!files.fileExists(atPath: folder.path + "/restored"))
        }
    }
}
