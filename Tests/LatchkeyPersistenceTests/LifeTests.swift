import CLatchkeyFaults
import Foundation
import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// No revision of one life of a store means something else in another one.
@Suite("Lives of a store", .timeLimit(.minutes(15)))
struct LifeTests {
    private let folder: TemporaryFolder
    private let disk = FaultyDisk()

    init() throws {
        folder = try TemporaryFolder()
    }

    private static let interval: PersistenceSettings = {
        var settings = PersistenceSettings()
        settings.durabilityChoice = .interval
        settings.syncInterval = .seconds(3600)
        return settings
    }()

    @Test
    func `after a kill, revisions go on after the shown ones, again and again`() throws {
        var tuning = disk.tuning
        tuning.roundCountMin = 10
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        // The states that a kill can leave: compaction may have put writes on the disk.
        var states = [source.model.entries]
        var path = folder.data
        for life in 0..<6 {
            // Some commits are on the disk, and some are lost.
            let first = try Opened(path, life % 2 == 0 ? .standard : Self.interval, tuning)
            #expect(states.contains(first.model.entries), "life \(life)")
            let last = first.persistence.lastRevision
            #expect(last >= source.model.revision, "life \(life)")
            #expect(first.persistence.historyRevision <= last)
            try source.restart(first.model, after: last)
            states = [first.model.entries]
            for _ in 0..<20 {
                first.commit(try source.next())
                states.append(source.model.entries)
            }
            if life % 2 == 0 { states = [source.model.entries] }
            let killed = folder.path + "killed\(life)"
            disk.hold(true)
            waitUntil {
                unsafe latchkey_faults_waiting(disk.handle) > 0
                    || first.persistence.status.compactionProgress == nil
            }
            try DataFiles(path).write(to: killed)
            disk.hold(false)
            #expect(try Persistence.check(killed).damages.isEmpty)
            #expect(first.persistence.finish() == .written)
            path = killed
        }
        // A clean end skips nothing.
        let opened = try Opened(path, Self.interval)
        let last = opened.persistence.lastRevision
        try source.restart(opened.model, after: last)
        opened.persistence.append(try source.next(), note: nil)
        #expect(opened.persistence.finish() == .written)
        let again = try Persistence(opening: path, startRevision: 1)
        #expect(again.lastRevision == last + 1)
        #expect(again.finish() == .written)
        // A backup of it has them, and what is restored of it, too.
        let file = folder.path + "backup"
        #expect(try Persistence.backup(of: path, into: file).lastRevision == last + 1)
        let restored = folder.path + "restored"
        #expect(try Persistence.restore(file, into: restored).lastRevision > last + 1 << 32)
        #expect(try Opened.read(restored).entries == source.model.entries)
    }

    @Test
    func `commits beyond the bound are released when they are on the disk`() throws {
        var tuning = disk.tuning
        tuning.unwrittenCountMax = 8
        var source = CommitSource(seed: 2, after: Opened.startRevision)
        let opened = try Opened(folder.data, Self.interval, tuning)
        for _ in 0..<20 { opened.persistence.append(try source.next(), note: nil) }
        // One less: a client that has seen the revision of the limit could not tell what comes
        // after it.
        #expect(opened.calls.read { $0.released } == Opened.startRevision + 7)
        let killed = try Persistence(opening: folder.copy(), startRevision: 1)
        #expect(killed.lastRevision == Opened.startRevision + 8)
        #expect(killed.historyRevision == killed.lastRevision)
        #expect(killed.finish() == .written)
        #expect(opened.persistence.finish() == .written)
        #expect(opened.calls.read { $0.released } == source.model.revision)
        #expect(try Opened.read(folder.data) == source.model)
    }

    @Test
    func `a backup that is restored twice begins two lives`() throws {
        let (second, hour) = (1000 as Int64, 3_600_000 as Int64)
        // Revisions of a folder that began at 0, at the time, and some hours ahead of it.
        let time = Timestamp(milliseconds: 1_000_000)
        for start in [1000, Revision.start(at: time), 40_000 << 20] {
            let path = folder.path + "\(start)"
            let opened = try Persistence(opening: path, startRevision: start)
            try opened.start(
                historyOldest: { .max },
                noteLifetime: .seconds(1),
                released: { _, _ in },
                failed: {}
            )
            var source = CommitSource(seed: 3, after: start)
            for _ in 0..<5 { opened.append(try source.next(), note: nil) }
            #expect(opened.finish() == .written)
            let file = path + ".backup"
            let backup = try Persistence.backup(of: path, into: file).lastRevision
            var lives: [Revision] = []
            for after in [second, 2 * second, hour, 24 * hour] {
                let now = Timestamp(milliseconds: time.milliseconds + after)
                let restored = path + ".\(after)"
                let life = try Persistence.restore(file, into: restored, at: now).lastRevision
                #expect(life >= backup + 1 << 32 && life >= .start(at: now))
                // A second has more revisions than a store makes commits.
                let isApart = lives.allSatisfy { max($0, life) - min($0, life) >= 1 << 20 }
                #expect(isApart, "\(start), \(after)")
                lives.append(life)
            }
        }
    }
}
