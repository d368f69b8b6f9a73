import CLatchkeyFaults
import Foundation
import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// Every disk that a loss of power can leave while a folder is used.
///
/// **Design.** Before each change of a file, `disk` asks it to look at the files, and no other
/// change is made meanwhile. Writes that no sync has covered can be there, be torn, or be missing.
/// Notes are synced before the next change of another file begins.
///
/// SAFETY: `@unchecked Sendable` because the mutex of `disk` is held during each call.
private final class Images: @unchecked Sendable {
    /// The files, and the last revision that was acknowledged before.
    private(set) var found: [DataFiles: Revision] = [:]
    /// Tells the last acknowledged commit, once it is open.
    let persistence = Guarded<Persistence?>(nil)
    private let path: String
    private let disk: FaultyDisk
    /// The content that is surely on the disk.
    private var sure: DataFiles
    private var former: DataFiles
    private var ended: ((inout DataFiles) -> Void)?

    /// Begins where no process uses the folder.
    init(_ path: String, _ disk: FaultyDisk) {
        self.path = path
        self.disk = disk
        sure = DataFiles(path)
        former = sure
        unsafe latchkey_faults_observe(
            disk.handle,
            { context, call in
                guard let context = unsafe context else { return }
                unsafe Unmanaged<Images>.fromOpaque(context).takeUnretainedValue().step(call)
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    func stop() {
        unsafe latchkey_faults_observe(disk.handle, nil, nil)
        ended?(&sure)
        take()
    }

    private func step(_ call: Int32) {
        ended?(&sure)
        ended = nil
        take()
        guard call & Int32(LATCHKEY_FAULTS_SYNC) != 0 else { return }
        let now = former
        let isLog = call & Int32(LATCHKEY_FAULTS_LOG) != 0
        ended = isLog ? { $0.log = now.log } : { $0.database = now.database }
    }

    private func take() {
        let released = persistence.read { $0 }?.status.durableRevision ?? 0
        let now = DataFiles(path)
        defer { former = now }
        // While the database is made, there is another file.
        guard let notes = now.lock, !notes.isEmpty else { return }
        var locks = [now.lock, former.lock]
        if let before = former.lock, notes.count == before.count,
            notes.prefix(4096) == before.prefix(4096)
                || notes.dropFirst(4096) == before.dropFirst(4096)
        {
            // One note was written. Where two were, the first one was synced before.
            locks.append(torn(now.lock, former.lock))
        }
        for database in unique([now.database, sure.database]) {
            for log in unique([now.log, sure.log, torn(now.log, sure.log)]) {
                for lock in unique(locks) {
                    var image = now
                    (image.database, image.log, image.lock) = (database, log, lock)
                    found[image] = max(found[image] ?? 0, released)
                }
            }
        }
    }

    private func unique(_ all: [Data?]) -> Set<Data?> { Set(all) }

    /// The first sectors of what has changed are new.
    private func torn(_ new: Data?, _ old: Data?) -> Data? {
        guard let new, let old else { return new }
        let padded = old + Data(count: max(0, new.count - old.count))
        guard let first = new.indices.first(where: { new[$0] != padded[$0] }),
            let last = new.indices.last(where: { new[$0] != padded[$0] })
        else { return new }
        // A sector is written whole.
        let middle = ((first + last) / 2 + 511) / 512 * 512
        return middle >= new.count ? new : new[..<middle] + padded[middle..<new.count]
    }
}

@Suite("Losses of power", .timeLimit(.minutes(30)))
struct PowerLossTests {
    private let folder: TemporaryFolder
    private let disk = FaultyDisk()

    init() throws {
        folder = try TemporaryFolder()
    }

    private var tuning: Tuning {
        var tuning = disk.tuning
        // The log often starts again: by the writer, and by SQLite after a whole checkpoint.
        tuning.restartFrameCount = 6
        tuning.checkpointFrameCount = 3
        tuning.noteInterval = .zero
        return tuning
    }

    /// Losses between the note, the header, its sync, the first frame, its sync, a checkpoint and
    /// the end.
    @Test(arguments: [DurabilityChoice.always, .interval])
    private func `a folder opens after a loss of power at each step`(
        durability: DurabilityChoice
    ) throws {
        var settings = PersistenceSettings.standard
        settings.durabilityChoice = durability
        settings.syncInterval = .milliseconds(1)
        var source = CommitSource(seed: 1, after: Opened.startRevision, nameCount: 5)
        var states = [source.model.revision: source.model]
        var (openCount, headerCount, salts) = (0, 0, Set<UInt64>())
        // The second life begins after a clean end, the third one after a kill.
        for life in 0..<(durability == .always ? 3 : 2) {
            try FileManager.default.createDirectory(
                atPath: folder.data,
                withIntermediateDirectories: true
            )
            let images = Images(folder.data, disk)
            let opened = try Opened(folder.data, settings, tuning)
            images.persistence.write { $0 = opened.persistence }
            for _ in 0..<12 {
                let commit = try source.next(effectCountMax: 2)
                states[source.model.revision] = source.model
                opened.commit(commit)
                waitUntil { opened.persistence.status.durableRevision == commit.revision }
            }
            let killed = try disk.copy(folder, opened)
            #expect(opened.persistence.finish() == .written)
            images.stop()
            for (files, released) in images.found {
                let path = folder.path + "image"
                try files.write(to: path)
                openCount += 1
                let log = try LogScan(path + "/latchkey.db-wal")
                salts.insert(log.salts)
                headerCount += log.salts != 0 && log.frameCount == 0 ? 1 : 0
                do {
                    let start = Opened.startRevision
                    let persistence = try Persistence(opening: path, startRevision: start)
                    let model = try Opened.read(persistence).0
                    _ = persistence.finish()
                    #expect(model.revision >= released, "life \(life)")
                    #expect(model == states[model.revision], "life \(life)")
                } catch let failure as PersistenceFailure {
                    Issue.record("life \(life), \(released): \(failure.message)")
                }
            }
            if life == 1 { try DataFiles(killed).write(to: folder.data) }
        }
        // It has found the logs as they begin, and several of them.
        #expect(salts.count > 4)
        #expect(headerCount > 4)
        #expect(openCount > 100)
    }

    private typealias DurabilityChoice = PersistenceSettings.DurabilityChoice
}
