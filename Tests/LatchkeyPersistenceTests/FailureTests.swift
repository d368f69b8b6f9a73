import CLatchkeyFaults
import CSQLite
import Glibc
import LatchkeyMetrics
import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyPersistence

private let writes = Int(LATCHKEY_FAULTS_WRITE)
private let syncs = Int(LATCHKEY_FAULTS_SYNC)
private let truncations = Int(LATCHKEY_FAULTS_TRUNCATE)
private let log = Int(LATCHKEY_FAULTS_LOG)
private let failedSync = SQLITE_IOERR | 4 << 8
private let failedWrite = SQLITE_IOERR | 3 << 8

@Suite("Failures of the disk", .timeLimit(.minutes(15)))
struct FailureTests {
    private let folder: TemporaryFolder
    private let disk = FaultyDisk()

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test
    func `all commits that come during a sync become one transaction`() throws {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning)
        disk.hold(true)
        opened.persistence.append(try source.next(), note: nil)
        disk.await()
        for _ in 0..<100 { opened.persistence.append(try source.next(), note: nil) }
        #expect(opened.calls.read { $0.released } == 0)
        disk.hold(false)
        opened.waitUntilReleased(source.model.revision)
        #expect(opened.persistence.statistics.syncs.value == 2)
        #expect(opened.persistence.finish() == .written)
    }

    /// A sync comes while its age is computed.
    @Test func `the age of the last sync is never below 0`() throws {
        let opened = try Opened(folder.data)
        let isOver = Atomic(false)
        let writer = TestThread {
            var source = CommitSource(seed: 4, after: Opened.startRevision)
            while !isOver.load(ordering: .relaxed), let commit = try? source.next() {
                opened.persistence.append(commit, note: nil)
                opened.waitUntilReleased(commit.revision)
            }
        }
        let ages = (0..<50_000).map { _ in opened.persistence.status.lastSyncAge }
        #expect(ages.allSatisfy { $0 >= .zero })
        isOver.store(true, ordering: .relaxed)
        #expect(writer.join())
        #expect(opened.persistence.finish() == .written)
    }

    @Test func `groups wait for a full disk, until the end`() throws {
        var tuning = disk.tuning
        tuning.earlyCountMax = 4
        let opened = try Opened(folder.data, .standard, tuning, isGrouped: true)
        disk.fail(writes | log, SQLITE_FULL, ENOSPC)
        let sealed = Atomic(0)
        let writer = TestThread {
            var source = CommitSource(seed: 3, after: Opened.startRevision)
            for _ in 0..<20 {
                guard let commit = try? source.next() else { return }
                opened.persistence.append(commit, note: nil)
                opened.persistence.seal(through: commit.revision, [1])
                sealed.wrappingAdd(1, ordering: .relaxed)
            }
        }
        waitUntil { opened.persistence.status.pendingCount > 4 }
        #expect(sealed.load(ordering: .relaxed) < 20)
        opened.persistence.takesAll()
        #expect(writer.join())
        #expect(opened.persistence.finish() == .full)
    }

    @Test(arguments: [0, 50, 99])
    func `a commit that does not fit is held, and written when there is room`(percent: Int32) throws
    {
        var source = CommitSource(seed: 2, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning)
        opened.commit(try source.next())
        for first in 0..<12 {
            let before = source.model
            // The writes of the log's frames, one after the other.
            disk.fail(writes | log, first: first, SQLITE_FULL, ENOSPC, percent: percent)
            let commit = try source.next(effectCountMax: 40)
            let fate = opened.fate(of: commit)
            guard fate == .held(.full) else {
                // The transaction has fewer writes.
                #expect(fate == .written && first >= 2)
                continue
            }
            #expect(try Opened.read(folder.copy()) == before)
            disk.stop()
            opened.waitUntilReleased(commit.revision)
            #expect(opened.persistence.unavailability == nil)
            #expect(try Opened.read(folder.copy()) == source.model)
        }
        try opened.expectEnd(source.model)
    }

    @Test
    func `a commit that is held at the end is tried once more`() throws {
        for fits in [true, false] {
            var (source, tuning) = (CommitSource(seed: 2, after: Opened.startRevision), disk.tuning)
            // It is not tried before the end.
            tuning.tryInterval = .seconds(86_400)
            let opened = try Opened(folder.data + "\(fits)", .standard, tuning)
            opened.commit(try source.next())
            let before = source.model
            disk.fail(writes | log, SQLITE_FULL, ENOSPC)
            #expect(opened.fate(of: try source.next()) == .held(.full))
            if fits { disk.stop() }
            #expect(opened.persistence.finish() == (fits ? .written : .full))
            disk.stop()
            #expect(try Opened.read(folder.data + "\(fits)") == (fits ? source.model : before))
        }
    }

    @Test(arguments: [(EDQUOT, true), (EFBIG, true), (EIO, false)])
    func `a quota is a full disk, and another failed write ends the process`(
        error: Int32,
        isFull: Bool
    ) throws {
        var source = CommitSource(seed: 3, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning)
        opened.commit(try source.next())
        let before = source.model
        disk.fail(writes | log, failedWrite, error)
        let fate = opened.fate(of: try source.next())
        #expect(fate == (isFull ? .held(.full) : .failed))
        disk.stop()
        guard !isFull else { return try opened.expectEnd(source.model) }
        try expectFailed(opened, either: before, or: source.model)
    }

    /// Nothing is written any more, and what is on the disk is the state before or after.
    private func expectFailed(_ opened: Opened, either before: Model, or after: Model) throws {
        #expect(opened.persistence.unavailability == .failing)
        guard case .failed(_, endsByItself: false) = opened.persistence.status.health else {
            Issue.record("It has not failed for good.")
            return
        }
        let calls = opened.calls.read { $0 }
        #expect(opened.persistence.finish() == .failed)
        #expect(opened.calls.read { $0.released } == calls.released)
        #expect(calls.failureCount == 1 && calls.unwritten == 0)
        #expect(calls.events.filter { $0 == "writes-fail" }.count == 1)
        let found = try Opened.read(folder.data)
        #expect(found == before || found == after)
    }

    @Test
    func `a short foreign lock holds what comes then, and nothing after it`() throws {
        var source = CommitSource(seed: 7, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning)
        opened.commit(try source.next())
        // While it reads, the log cannot start again from its beginning.
        let reader = try Connection(folder.data + "/latchkey.db")
        try reader.execute("begin")
        _ = try reader.integer("select count(*) from changes")
        let other = try Connection(folder.data + "/latchkey.db")
        try other.execute("begin immediate")
        let commit = try source.next()
        #expect(opened.fate(of: commit) == .held(.failing))
        try other.execute("rollback")
        opened.waitUntilReleased(commit.revision)
        #expect(opened.persistence.status.health == .healthy)
        try reader.execute("commit")
        try opened.expectEnd(source.model)
    }

    @Test
    func `with an interval, nothing is released that the end does not write`() throws {
        var settings = PersistenceSettings.standard
        settings.durabilityChoice = .interval
        settings.syncInterval = .milliseconds(1)
        for seed in 0..<20 {
            let folder = try TemporaryFolder()
            let opened = try Opened(folder.data, settings)
            let commits = ThreadGroup()
            let stops = Atomic(false)
            commits.start {
                var source = CommitSource(seed: UInt64(seed), after: Opened.startRevision)
                // So many that the end comes between two of them, and no more than it can write.
                for _ in 0..<5_000 where !stops.load(ordering: .relaxed) {
                    guard let commit = try? source.next() else { break }
                    opened.persistence.append(commit, note: nil)
                }
            }
            opened.waitUntilReleased(Opened.startRevision + 1)
            _ = opened.persistence.finish()
            let released = opened.calls.read { $0.released }
            stops.store(true, ordering: .relaxed)
            commits.join()
            #expect(opened.calls.read { $0.released } == released)
            #expect(try Opened.read(folder.data).revision == released)
        }
    }

    /// The second sync would succeed: the pages may be lost all the same.
    @Test(arguments: [EIO, ENOSPC, EDQUOT])
    func `a sync that fails once ends the process`(error: Int32) throws {
        var source = CommitSource(seed: 4, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning)
        try opened.commit(20, of: &source)
        let before = source.model
        disk.hold(true)
        disk.fail(syncs, count: 1, failedSync, error)
        opened.persistence.append(try source.next(), note: nil)
        disk.await()
        // This commit comes during the sync, and is not written.
        var later = source
        opened.persistence.append(try later.next(), note: nil)
        disk.hold(false)
        #expect(opened.fate(of: try later.next()) == .failed)
        try expectFailed(opened, either: before, or: source.model)
    }

    @Test func `a checkpoint whose sync fails ends the process`() throws {
        var (source, tuning) = (CommitSource(seed: 9, after: Opened.startRevision), disk.tuning)
        tuning.checkpointFrameCount = 20
        let opened = try Opened(folder.data, .standard, tuning)
        try opened.commit(1, of: &source)
        disk.fail(syncs, failedSync, EIO)
        waitUntil {
            if opened.calls.read({ $0.failureCount }) > 0 { return true }
            if let commit = try? source.next() { opened.persistence.append(commit, note: nil) }
            return false
        }
        #expect(opened.persistence.finish() == .failed)
    }

    @Test(arguments: [writes, syncs, truncations, writes | log, syncs | log])
    func `a call that fails at any point loses nothing`(calls: Int) throws {
        var tuning = disk.tuning
        tuning.roundCountMin = 20
        tuning.checkpointFrameCount = 20
        tuning.restartFrameCount = 40
        var source = CommitSource(seed: 5, after: Opened.startRevision, nameCount: 40)
        var opened = try Opened(folder.data, .standard, tuning)
        let isSync = calls & syncs != 0
        var failureCount = 0
        for index in 0..<40 {
            disk.fail(
                calls,
                first: index % 7,
                count: 1,
                isSync ? failedSync : SQLITE_FULL,
                isSync ? EIO : ENOSPC
            )
            for _ in 0..<10 {
                let before = source
                let commit = try source.next()
                if opened.fate(of: commit) == .failed {
                    failureCount += 1
                    #expect(opened.persistence.finish() == .failed)
                    opened = try Opened(folder.data, .standard, tuning)
                    if opened.model == before.model { source = before }
                    #expect(opened.model == source.model)
                } else {
                    opened.waitUntilReleased(commit.revision)
                }
            }
            disk.stop()
            if index % 5 == 0, opened.calls.read({ $0.failureCount }) == 0 {
                #expect(try Opened.read(disk.copy(folder, opened)) == source.model)
            }
        }
        #expect(isSync ? failureCount > 0 : failureCount == 0)
        if opened.calls.read({ $0.failureCount }) == 0 {
            try opened.expectEnd(source.model)
        }
    }

    @Test
    func `a disk that does not answer is not healthy meanwhile`() throws {
        var (source, tuning) = (CommitSource(seed: 8, after: Opened.startRevision), disk.tuning)
        (tuning.hangInterval, tuning.lookInterval) = (.milliseconds(1), .milliseconds(1))
        let opened = try Opened(folder.data, .standard, tuning)
        disk.hold(true)
        let commit = try source.next()
        opened.persistence.append(commit, note: nil)
        disk.await()
        waitUntil { opened.calls.read { $0.events.contains("disk-hangs") } }
        guard case .failed(let reason, endsByItself: true) = opened.persistence.status.health else {
            Issue.record("It counts as healthy.")
            return
        }
        #expect(reason.contains("has not answered"))
        disk.hold(false)
        opened.waitUntilReleased(commit.revision)
        waitUntil { opened.calls.read { $0.events.contains("disk-answers") } }
        #expect(opened.persistence.status.health == .healthy)
        try opened.expectEnd(source.model)
    }

    @Test
    func `with an interval, commits are released at once and written later`() throws {
        var settings = PersistenceSettings()
        settings.durabilityChoice = .interval
        settings.syncInterval = .milliseconds(50)
        var source = CommitSource(seed: 6, after: Opened.startRevision)
        let opened = try Opened(folder.data, settings, disk.tuning)
        disk.fail(writes | log, SQLITE_FULL, ENOSPC)
        for _ in 0..<10 { opened.persistence.append(try source.next(), note: nil) }
        #expect(opened.calls.read { $0.released } == source.model.revision)
        waitUntil { opened.persistence.unavailability == .full }
        disk.stop()
        waitUntil { opened.persistence.unavailability == nil }
        // On a busy machine, the commits were no one batch.
        waitUntil { opened.persistence.status.durableRevision == source.model.revision }
        #expect(try Opened.read(folder.copy()) == source.model)
        #expect(opened.persistence.finish() == .written)
    }
}
