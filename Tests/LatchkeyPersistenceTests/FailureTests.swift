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
        #expect(opened.persistence.finish())
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
        #expect(opened.persistence.finish())
    }

    /// A replica executes what others have decided, so nothing of it can be withdrawn.
    @Test func `groups wait for a full disk, until who makes them ends`() throws {
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
        #expect(!opened.persistence.finish(), "it is not on the disk")
    }

    @Test(arguments: [0, 50, 99])
    func `what does not fit is withdrawn, and never shows up`(percent: Int32) throws {
        var source = CommitSource(seed: 2, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning)
        opened.commit(try source.next())
        for first in 0..<12 {
            let before = source
            // The writes of the log's frames, one after the other.
            disk.fail(writes | log, first: first, SQLITE_FULL, ENOSPC, percent: percent)
            let commit = try source.next(effectCountMax: 40)
            guard let withdrawal = opened.withdrawal(of: commit) else {
                // The transaction has fewer writes.
                #expect(first >= 2)
                continue
            }
            #expect(withdrawal.reason == .full)
            #expect(withdrawal.revision == before.model.revision)
            #expect(try Opened.read(folder.copy()) == before.model)
            #expect(opened.persistence.acceptsWrites)
            disk.stop()
            source = before
            // The next write has the same revision and tries at once.
            opened.commit(try source.next())
            #expect(try Opened.read(folder.copy()) == source.model)
        }
        try opened.expectEnd(source.model)
    }

    @Test
    func `a quota is a full disk, and another failed write is of unknown outcome`() throws {
        var source = CommitSource(seed: 3, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning)
        let before = source
        for (error, reason) in [(EDQUOT, Withdrawal.full), (EIO, .unknown)] {
            let count = opened.calls.read { $0.withdrawals.count }
            disk.fail(writes | log, failedWrite, error)
            opened.persistence.append(try source.next(), note: nil)
            #expect(opened.waitForWithdrawals(count + 1).last?.reason == reason)
            source = before
        }
        #expect(!opened.persistence.acceptsWrites)
        disk.stop()
        waitUntil { opened.persistence.acceptsWrites }
        opened.commit(try source.next())
        try opened.expectEnd(source.model)
    }

    @Test
    func `a short foreign lock refuses what comes then, and nothing after it`() throws {
        var source = CommitSource(seed: 7, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        opened.commit(try source.next())
        // While it reads, no log can begin anew.
        let reader = try Connection(folder.data + "/latchkey.db")
        try reader.execute("begin")
        _ = try reader.integer("select count(*) from changes")
        let other = try Connection(folder.data + "/latchkey.db")
        try other.execute("begin immediate")
        let before = source
        opened.persistence.append(try source.next(), note: nil)
        #expect(opened.waitForWithdrawals(1).first?.reason == .unavailable)
        try other.execute("rollback")
        source = before
        opened.commit(try source.next())
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

    @Test
    func `after a failed sync the outcome is unknown, until a probe has taken its place`() throws {
        var source = CommitSource(seed: 4, after: Opened.startRevision)
        let opened = try Opened(folder.data, .standard, disk.tuning)
        try opened.commit(20, of: &source)
        let before = source
        disk.hold(true)
        disk.fail(syncs, failedSync, EIO)
        opened.persistence.append(try source.next(), note: nil)
        disk.await()
        var behind = source
        opened.persistence.append(try behind.next(), note: nil)
        disk.hold(false)
        // What waits behind the sync is not written, so its outcome is known.
        let withdrawals = opened.waitForWithdrawals(2)
        #expect(withdrawals.map(\.reason) == [.unavailable, .unknown])
        #expect(withdrawals.map(\.revision) == [source, before].map(\.model.revision))
        #expect(!opened.persistence.acceptsWrites)
        guard case .failed(_, endsByItself: true) = opened.persistence.status.health else {
            Issue.record("It is not failed.")
            return
        }
        // Killed now, the commit is there, or not: both are what was said.
        let copy = try Opened.read(folder.copy())
        #expect(copy == before.model || copy == source.model)
        // What comes although writes are refused is withdrawn, and was never written: also behind a
        // probe whose sync fails.
        source = before
        disk.hold(true)
        disk.await()
        opened.persistence.append(try source.next(), note: nil)
        disk.hold(false)
        #expect(opened.waitForWithdrawals(3).last?.reason == .unavailable)
        disk.stop()
        waitUntil { opened.persistence.acceptsWrites }
        #expect(try Opened.read(folder.copy()) == before.model)
        source = before
        opened.commit(try source.next(effectCountMax: 9))
        #expect(try Opened.read(folder.copy()) == source.model)
        try opened.expectEnd(source.model)
    }

    @Test(arguments: [writes, syncs, truncations, writes | log, syncs | log])
    func `a call that fails at any point loses nothing`(calls: Int) throws {
        var tuning = disk.tuning
        tuning.roundCountMin = 20
        tuning.checkpointFrameCount = 20
        tuning.restartFrameCount = 40
        var source = CommitSource(seed: 5, after: Opened.startRevision, nameCount: 40)
        let opened = try Opened(folder.data, .standard, tuning)
        for index in 0..<40 {
            let isSync = calls & syncs != 0
            disk.fail(
                calls,
                first: index % 7,
                count: 1,
                isSync ? failedSync : SQLITE_FULL,
                isSync ? EIO : ENOSPC
            )
            for _ in 0..<10 {
                let before = source
                if opened.withdrawal(of: try source.next()) != nil {
                    source = before
                    waitUntil { opened.persistence.acceptsWrites }
                }
            }
            disk.stop()
            waitUntil { opened.persistence.status.health == .healthy }
            if index % 5 == 0 {
                #expect(try Opened.read(disk.copy(folder, opened)) == source.model)
            }
        }
        try opened.expectEnd(source.model)
    }

    @Test
    func `with an interval, commits are released at once and written later`() throws {
        var settings = PersistenceSettings()
        settings.durabilityChoice = .interval
        settings.syncInterval = .milliseconds(50)
        var source = CommitSource(seed: 6, after: Opened.startRevision)
        let opened = try Opened(folder.data, settings, disk.tuning)
        disk.fail(syncs, failedSync, EIO)
        for _ in 0..<10 { opened.persistence.append(try source.next(), note: nil) }
        #expect(opened.calls.read { $0.released } == source.model.revision)
        waitUntil { !opened.persistence.acceptsWrites }
        disk.stop()
        waitUntil { opened.persistence.acceptsWrites }
        // On a busy machine, the commits were no one batch.
        waitUntil { opened.persistence.status.durableRevision == source.model.revision }
        #expect(try Opened.read(folder.copy()) == source.model)
        #expect(opened.calls.read { $0.withdrawals.isEmpty })
        #expect(opened.persistence.finish())
    }
}
