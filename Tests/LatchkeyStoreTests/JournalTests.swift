import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The order of the journal, its limits, and its waiters.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct JournalTests {
    @Test func `commits are read in order however they arrive`() {
        let (count, threadCount, seed) = (4000, 4, UInt64(91))
        var random = SeededGenerator(seed)
        var revisions = Array(1...count)
        for start in stride(from: 0, to: count, by: 20) {
            revisions[start..<start + 20].shuffle(using: &random)
        }
        let journal = Journal(HistoryLimits())
        let reader = TestThread {
            var place: Revision = 0
            while place < count {
                guard case .commits(let commits, _) = journal.commits(after: place, countMax: 7)
                else {
                    Issue.record("nothing is dropped")
                    return
                }
                for commit in commits {
                    #expect(commit.revision == place + 1, "seed \(seed)")
                    place = commit.revision
                }
                #expect(journal.last >= place)
            }
        }
        let ended = TestThread.run(threadCount) { [revisions] thread in
            for index in stride(from: thread, to: count, by: threadCount) {
                journal.append(.replacing(Revision(revisions[index])))
            }
        }
        #expect(ended)
        #expect(reader.join())
        #expect(journal.last == Revision(count))
    }

    @Test(arguments: Depth.kinds)
    func `each commit starts from what the one before it left`(kind: StrategyKind) {
        following(kind)
    }

    @Test func `a history says from where on it has all commits`() {
        // Three commits.
        let journal = Journal(HistoryLimits(byteCountMax: 512))
        #expect(journal.oldest == 0)
        for revision in 1...5 { journal.append(.replacing(Revision(revision))) }
        #expect(journal.oldest == 2)
        #expect(journal.usage.commitCount == 3)
        #expect(journal.revisions(after: 0) == nil)
        #expect(journal.revisions(after: 1) == nil)
        #expect(journal.revisions(after: 2) == [3, 4, 5])
        #expect(journal.revisions(after: 2, countMax: 2) == [3, 4])
        #expect(journal.revisions(after: 4) == [5])
        #expect(journal.revisions(after: 5) == [])
        #expect(journal.revisions(after: 9) == [])
    }

    /// A commit counts 128 bytes, and each property that it replaced 64 and its own.
    @Test func `the history is bounded by the bytes that only it keeps`() {
        // A quarter is for what expires.
        let journal = Journal(HistoryLimits(byteCountMax: 800))
        for revision in 1...4 { journal.append(.replacing(Revision(revision))) }
        #expect(journal.usage == (4, 512))
        journal.append(.replacing(5, byteCount: 24))
        #expect(journal.revisions(after: 1) == [2, 3, 4, 5])
        #expect(journal.usage == (4, 600), "at the bound")
        journal.append(.replacing(6, byteCount: 1))
        #expect(journal.revisions(after: 3) == [4, 5, 6])
        #expect(journal.usage == (3, 537))
        journal.append(.replacing(7, byteCount: 0))
        #expect(journal.usage == (3, 537))
        journal.append(.replacing(8, byteCount: 409))
        #expect(journal.usage == (0, 0), "one commit alone is more than the bound")
        #expect(journal.oldest == 8)
        #expect(journal.last == 8)
        journal.append(.replacing(9, byteCount: 408))
        #expect(journal.revisions(after: 8) == [9])
    }

    @Test func `waiters are told in the order of revisions, once each`() {
        let journal = Journal(HistoryLimits(byteCountMax: 1))
        let told = Synchronized<[Revision], LockStrategy>([])
        for revision: Revision in [3, 1, 4, 2, 0] {
            journal.whenReached(revision) { told.write { $0.append(revision) } }
        }
        #expect(told.read { $0 } == [0])
        journal.append(.replacing(2))
        journal.append(.replacing(3))
        #expect(told.read { $0 } == [0])
        journal.append(.replacing(1))
        #expect(told.read { $0 } == [0, 1, 2, 3])
        journal.append(.replacing(4))
        journal.append(.replacing(5))
        #expect(told.read { $0 } == [0, 1, 2, 3, 4])
        journal.whenReached(2) { told.write { $0.append(2) } }
        #expect(told.read { $0 } == [0, 1, 2, 3, 4, 2])
    }

    @Test func `a waiting one may ask the journal again`() {
        let journal = Journal(HistoryLimits())
        let found = Synchronized<[Revision]?, LockStrategy>(nil)
        journal.whenReached(1) {
            let revisions = journal.revisions(after: 0)
            found.write { $0 = revisions }
        }
        journal.append(.replacing(1))
        #expect(found.read { $0 } == [1])
    }
}

/// Three writers change the same few names, alone and together.
private func following(_ kind: StrategyKind) {
    let bench = JournaledBench(kind)
    let ended = TestThread.run(3) { thread in
        for step in 0..<100 {
            switch (step + thread) % 4 {
            case 0: bench.store.increment("a")
            case 1: _ = bench.store.commit([.increment("a"), .increment("b")])
            case 2: _ = bench.store.commit([.delete("b"), .put("c", "\(step)")])
            default: bench.put("b", "\(step)")
            }
        }
    }
    #expect(ended)
    #expect(bench.journal.wait(for: bench.base.usage.revision))
    let commits = bench.journal.all()
    #expect(commits.map(\.revision) == Array(1...bench.base.usage.revision))
    var latest: [String: Revision] = [:]
    for commit in commits {
        for effect in commit.effects {
            let name = PropertyName(of: effect.some).text
            #expect(effect.former?.revision == latest[name])
            latest[name] = effect.property?.revision
        }
    }
    #expect(
        latest
            == ["a", "b", "c"].reduce(into: [:]) { latest, name in
                latest[name] = bench.store.property(name)?.revision
            }
    )
}

extension Commit {
    /// A commit that replaces a property of this many bytes; none for 0.
    fileprivate static func replacing(_ revision: Revision, byteCount: Int = 0) -> Commit {
        let name = PropertyName.owning("n")
        let value = OwnedBytes([UInt8](repeating: 0x31, count: max(0, byteCount - 1)))
        let property = unsafe Property(name: name, value: value.bytes)
        return Commit(
            revision: revision,
            time: Timestamp(milliseconds: 0),
            first: Effect(from: byteCount > 0 ? property : nil, to: property, .requested)
        )
    }
}

extension Journal {
    /// The revisions that a reading finds, nil if they are gone.
    fileprivate func revisions(after revision: Revision, countMax: Int = .max) -> [Revision]? {
        switch commits(after: revision, countMax: countMax) {
        case .commits(let commits, _): commits.map(\.revision)
        case .gone: nil
        }
    }
}
