import CLatchkeyFaults
import CSQLite
import Foundation
import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// Data folders that are removed, replaced, or not to be written.
@Suite(.timeLimit(.minutes(15)))
struct FolderTests {
    private let folder: TemporaryFolder
    private let files = FileManager.default

    init() throws {
        folder = try TemporaryFolder()
    }

    /// No thread checks the folder by itself.
    private var tuning: Tuning {
        var tuning = Tuning()
        tuning.lookInterval = .seconds(1 << 20)
        return tuning
    }

    private func mode(_ path: String) throws -> Int {
        try #require(files.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    // MARK: Gone

    enum Ending: CaseIterable {
        case removed, moved, replaced, withoutLog, withoutLock

        func apply(to data: String) throws {
            let files = FileManager.default
            switch self {
            case .removed: try files.removeItem(atPath: data)
            case .moved: try files.moveItem(atPath: data, toPath: data + ".old")
            case .replaced:
                try files.copyItem(atPath: data, toPath: data + ".copy")
                try files.removeItem(atPath: data)
                try files.moveItem(atPath: data + ".copy", toPath: data)
            case .withoutLog: try files.removeItem(atPath: data + "/latchkey.db-wal")
            case .withoutLock: try files.removeItem(atPath: data + "/latchkey.lock")
            }
        }
    }

    @Test(arguments: Ending.allCases)
    func `a folder that is gone takes no change, and its open files are copied`(
        ending: Ending
    ) throws {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, tuning)
        try opened.commit(40, of: &source)
        try ending.apply(to: folder.data)
        let log = folder.data + "/latchkey.db-wal"
        let left = files.contents(atPath: log)
        // This commit is written to the open files before the loss is noticed.
        opened.commit(try source.next())
        let model = source.model
        for _ in 1..<FolderWatch.looksUntilGone {
            opened.persistence.lookAtFolder()
            #expect(opened.persistence.unavailability == nil && !opened.persistence.isLost)
        }
        opened.persistence.lookAtFolder()
        #expect(opened.persistence.unavailability == .gone && opened.persistence.isLost)
        guard case .failed(let reason, false) = opened.persistence.status.health else {
            Issue.record("It has not failed for good.")
            return
        }
        #expect(reason.contains("the last copy"))
        #expect(opened.fate(of: try source.next()) == .unwritten)
        let file = folder.path + "/copy.db"
        let copy = try opened.persistence.backup(into: file)
        #expect(copy.lastRevision == model.revision && copy.damages.isEmpty)
        _ = try Persistence.restore(file, into: folder.path + "/restored")
        #expect(try Opened.read(folder.path + "/restored").entries == model.entries)
        // The folder at the path now is another one.
        #expect(opened.persistence.finish() == .failed)
        if ending == .replaced { #expect(files.contents(atPath: log) == left) }
    }

    @Test(arguments: Ending.allCases)
    func `an end right after the folder went says so, and touches no other`(ending: Ending) throws {
        var source = CommitSource(seed: 7, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, tuning)
        try opened.commit(10, of: &source)
        try ending.apply(to: folder.data)
        let log = folder.data + "/latchkey.db-wal"
        let left = files.contents(atPath: log)
        #expect(opened.persistence.finish() == .failed)
        #expect(files.contents(atPath: log) == left)
    }

    @Test(arguments: Ending.allCases, [Int(LATCHKEY_FAULTS_WRITE), Int(LATCHKEY_FAULTS_SYNC)])
    func `a write or a sync that fails where the folder is gone ends nothing`(
        ending: Ending,
        call: Int
    ) throws {
        let disk = FaultyDisk()
        var (source, tuning) = (CommitSource(seed: 8, after: Opened.startRevision), disk.tuning)
        tuning.lookInterval = self.tuning.lookInterval
        let opened = try Opened(folder.data, .standard, tuning)
        try opened.commit(10, of: &source)
        try ending.apply(to: folder.data)
        disk.fail(call, SQLITE_IOERR, EIO)
        for _ in 0..<3 { #expect(opened.fate(of: try source.next()) == .unwritten) }
        #expect(opened.persistence.unavailability == .gone && opened.persistence.isLost)
        #expect(opened.calls.read { $0.events } == ["data-folder-gone"])
        #expect(opened.persistence.finish() == .failed)
        #expect(opened.calls.read { $0.failureCount } == 0)
    }

    @Test
    func `with interval, what was accepted before is still in the copy`() throws {
        var source = CommitSource(seed: 2, after: Opened.startRevision)
        var settings = PersistenceSettings.standard
        (settings.durabilityChoice, settings.syncInterval) = (.interval, .milliseconds(1))
        let opened = try Opened(folder.data, settings, tuning)
        try opened.commit(20, of: &source)
        try Ending.removed.apply(to: folder.data)
        let last = source.model.revision
        waitUntil { opened.persistence.status.durableRevision == last }
        for _ in 0..<FolderWatch.looksUntilGone { opened.persistence.lookAtFolder() }
        #expect(opened.persistence.unavailability == .gone)
        let copy = try opened.persistence.backup(into: folder.path + "/copy.db")
        #expect(copy.lastRevision == last)
        #expect(opened.persistence.finish() == .failed)
    }

    @Test
    func `three looks in a row say that a folder is gone, and errors of looks say nothing`() {
        var looks = FolderLooks()
        let (gone, unknown) = (FolderWatch.Finding.gone("it is"), FolderWatch.Finding.unknown("?"))
        let lines = [gone, gone, .whole, gone, gone, unknown, unknown, gone, gone]
            .compactMap { looks.take($0)?.event }
        #expect(lines == ["data-folder-not-seen"] && looks.loss == nil)
        #expect(looks.take(gone)?.event == "data-folder-gone" && looks.loss != nil)
        // Nothing ends it, and it is said once a minute.
        let later = (0..<2 * FolderWatch.looksBetweenLines).compactMap { _ in looks.take(.whole) }
        #expect(later.count == 2 && later.allSatisfy(\.isError))
    }

    @Test
    func `a look at a file that cannot be looked at is an error of the look`() throws {
        let opened = try Opened(folder.data, .standard, tuning)
        let watch = try FolderWatch(Folder.opened(opened))
        #expect(watch.look() == .whole)
        try files.moveItem(atPath: folder.data, toPath: folder.data + ".old")
        // A link to itself: ELOOP, which is neither a missing file nor another one.
        try files.createSymbolicLink(atPath: folder.data, withDestinationPath: folder.data)
        guard case .unknown = watch.look() else {
            Issue.record("\(watch.look())")
            return
        }
        try files.removeItem(atPath: folder.data)
        try files.moveItem(atPath: folder.data + ".old", toPath: folder.data)
        #expect(opened.persistence.finish() == .written)
    }

    // MARK: Not to be written

    /// Runs as a user who may not write what others own; as this one, if it is not root.
    private func asOther<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async -> Result {
        await TestThread.result {
            guard geteuid() == 0 else { return body() }
            latchkey_faults_become(65_534)
            defer { latchkey_faults_become(0) }
            return body()
        }
    }

    private static func message(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch {
            return (error as? PersistenceFailure)?.message ?? "\(error)"
        }
    }

    /// A folder of a service that was killed, or that has ended, which everybody can read.
    private func readable(isKilled: Bool) throws -> (path: String, model: Model) {
        var source = CommitSource(seed: 3, after: Opened.startRevision)
        let disk = FaultyDisk()
        let opened = try Opened(folder.data, .standard, disk.tuning)
        try opened.commit(30, of: &source)
        let path = isKilled ? try disk.copy(folder, opened) : folder.data
        #expect(opened.persistence.finish() == .written)
        for name in try files.contentsOfDirectory(atPath: path) {
            #expect(unsafe chmod(path + "/" + name, 0o444) == 0)
        }
        #expect(unsafe chmod(path, 0o555) == 0)
        return (path, source.model)
    }

    @Test(arguments: [true, false])
    func `check and backup need no right to write the folder`(isKilled: Bool) async throws {
        let (path, model) = try readable(isKilled: isKilled)
        let other = try TemporaryFolder()
        #expect(unsafe chmod(other.path, 0o777) == 0)
        let before = try files.contentsOfDirectory(atPath: path).sorted()
        let found = await asOther {
            Self.message {
                let report = try Persistence.check(path)
                #expect(report.damages.isEmpty && report.lastRevision == model.revision)
                let copy = try Persistence.backup(of: path, into: other.path + "/copy.db")
                #expect(copy.lastRevision == model.revision)
            }
        }
        #expect(found.isEmpty, "\(found)")
        #expect(try files.contentsOfDirectory(atPath: path).sorted() == before)
        #expect(unsafe chmod(path, 0o755) == 0)
        _ = try Persistence.restore(other.path + "/copy.db", into: folder.path + "/restored")
        #expect(try Opened.read(folder.path + "/restored").entries == model.entries)
    }

    @Test(arguments: ["latchkey.db", "latchkey.db-wal", "latchkey.lock"])
    func `a file that cannot be written is named at the start`(name: String) async throws {
        let (path, _) = try readable(isKilled: true)
        if geteuid() == 0 { #expect(unsafe chown(path, 65_534, 65_534) == 0) }
        #expect(unsafe chmod(path, 0o755) == 0)
        for file in try files.contentsOfDirectory(atPath: path) where file != name {
            let file = path + "/" + file
            if geteuid() == 0 { #expect(unsafe chown(file, 65_534, 65_534) == 0) }
            #expect(unsafe chmod(file, 0o600) == 0)
        }
        let messages = await asOther {
            [
                Self.message { _ = try Persistence(opening: path, startRevision: 1) },
                Self.message { try Persistence.checkStart(path, mayBeInUse: false) },
            ]
        }
        for message in messages {
            let isNamed =
                message.contains("\(path)/\(name)") && message.contains("ermission denied")
            #expect(isNamed, "\(message)")
        }
    }

    /// A failing lock makes SQLite drop its cache, which its version counts as a change.
    @Test
    func `a lock that fails for a while is no other program`() throws {
        var source = CommitSource(seed: 4, after: Opened.startRevision)
        let disk = FaultyDisk()
        let opened = try Opened(folder.data, .standard, disk.tuning)
        try opened.commit(10, of: &source)
        disk.fail(Int(LATCHKEY_FAULTS_LOCK), SQLITE_IOERR | 20 << 8, ENOLCK)
        let commit = try source.next()
        #expect(opened.fate(of: commit) == .held(.failing))
        disk.stop()
        opened.waitUntilReleased(commit.revision)
        try opened.expectEnd(source.model)
    }

    // MARK: Names and permissions

    @Test
    func `a name that begins as a URI is a path`() {
        for name in ["file:y?a=b", "file::memory:", ":memory:", "plain"] {
            let path = Connection.absolute(name)
            #expect(path.hasPrefix("/") && path.hasSuffix("/" + name))
        }
        #expect(Connection.absolute("/file:y") == "/file:y")
    }

    @Test
    func `only the owner can read what is made`() throws {
        var source = CommitSource(seed: 6, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        try opened.commit(5, of: &source)
        for name in try files.contentsOfDirectory(atPath: folder.data) {
            #expect(try mode(folder.data + "/" + name) == 0o600, "\(name)")
        }
        let (copy, backup) = (folder.path + "/copy.db", folder.path + "/backup.db")
        _ = try opened.persistence.backup(into: copy)
        _ = try Persistence.backup(of: folder.data, into: backup)
        #expect(opened.persistence.finish() == .written)
        _ = try Persistence.restore(backup, into: folder.path + "/restored")
        for path in [copy, backup, folder.path + "/restored/latchkey.db"] {
            #expect(try mode(path) == 0o600, "\(path)")
        }
    }
}

extension Folder {
    /// The folder of a database that is open, which it has locked.
    fileprivate static func opened(_ opened: Opened) throws -> Folder {
        try #require(opened.persistence.folder)
    }
}
