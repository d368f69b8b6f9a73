import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Stores whose revisions begin above those of an earlier store.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct StartRevisionTests {
    @Test func `a later start is above a million commits a second, and exact in JSON`() {
        let first = Timestamp(milliseconds: 1_700_000_000_000)
        #expect(Revision.start(at: first) == 1_700_000_000 << 20)
        let later = Timestamp(milliseconds: first.milliseconds + 10)
        #expect(Revision.start(at: later) > .start(at: first) + 10_000)
        let year2240 = Timestamp(milliseconds: 8_520_336_000_000)
        #expect(Revision.start(at: year2240) < 1 << 53)
        #expect(Revision.start(at: Timestamp(milliseconds: -5)) == 0)
    }

    /// The revision of a later life, at this many milliseconds since 1970.
    private func life(_ revision: Revision, _ milliseconds: Int64) throws -> Revision {
        let now = Timestamp(milliseconds: milliseconds)
        return try #require(Revision.laterLife(of: revision, at: now))
    }

    @Test func `a later life begins as this table says`() throws {
        // 256 seconds after a multiple of 4096.
        let now = 1_700_000_000_000 as Int64
        let clock: Revision = 1_700_000_000 << 20
        let span: Revision = 1 << 32
        let behindClock: Revision = clock + 2 * span + 1 << 20
        for revision in [0, 1000, clock - 1, clock] as [Revision] {
            #expect(try life(revision, now) == behindClock, "\(revision)")
        }
        for revision in [clock + 1, 1 << 52, 1 << 61] as [Revision] {
            let expected: Revision = revision + span + 256 << 20
            #expect(try life(revision, now) == expected, "\(revision)")
        }
        let last = InputCheck.revisionMax
        for revision in [last - span, last, last + 1, .max] as [Revision] {
            let later = Revision.laterLife(of: revision, at: Timestamp(milliseconds: now))
            #expect(later == nil, "\(revision)")
        }
    }

    @Test func `later lives of one revision are apart, whatever the clock is`() throws {
        let first = 1_700_000_000_000 as Int64
        let clock = Revision.start(at: Timestamp(milliseconds: first))
        let seconds = [0, 1, 2, 10, 1000, 2047, 2048, 4000, 4094, 4095] as [Int64]
        // The clock passes some of these revisions in between.
        var revisions: [Revision] = [0, clock + 1, clock + 1 << 33, clock + 1 << 40]
        for second in seconds {
            let distance = Revision(second) << 20
            revisions += [clock + distance, clock - distance]
        }
        for revision in revisions {
            for (index, one) in seconds.enumerated() {
                let start = first + 1000 * one
                let begun = try life(revision, start)
                #expect(begun >= revision + 1 << 32)
                #expect(begun >= Revision.start(at: Timestamp(milliseconds: start)))
                for other in seconds[(index + 1)...] {
                    let later = try life(revision, first + 1000 * other)
                    let apart = max(begun, later) - min(begun, later)
                    #expect(apart >= 1 << 20, "\(revision), \(one), \(other)")
                }
            }
        }
    }

    @Test func `many lives within a short time do not run away from the clock`() throws {
        let now = 1_700_000_123_456 as Int64
        let clock = Revision.start(at: Timestamp(milliseconds: now))
        for start in [0, clock] as [Revision] {
            var revision = start
            for _ in 0..<1000 { revision = try life(revision, now) }
            let bound: Revision = clock + 1001 << 33
            #expect(revision <= bound)
        }
    }

    @Test(arguments: Depth.kinds)
    func `a store, its journal and its hook begin after a revision`(kind: StrategyKind) {
        BeginningLater().run(kind)
    }
}

private struct BeginningLater {
    private static let start: Revision = 1 << 50

    func run(_ kind: StrategyKind) {
        let start = Self.start
        let passed = Synchronized<[Revision], LockStrategy>([])
        let received = Gate()
        let hook = CommitHook { commit, _ in
            passed.write { $0.append(commit.revision) }
            received.open()
        }
        let store = BlockingStore(
            kind,
            stripeCount: 4,
            after: start,
            hook: hook
        )
        #expect(store.base.usage.revision == start)
        #expect(store.list(limit: 1).revision == start, "an empty store waits for nothing")
        #expect(store.value("a") == nil)
        let isDone = Gate()
        do {
            try store.base.commit(.increment(.owning("a"), by: 1), .here()) { decision in
                #expect(Outcome(decision) == .created(start + 1))
                isDone.open()
            }
        } catch {
            Issue.record("\(error)")
        }
        #expect(received.pass())
        hook.release(through: start + 1)
        #expect(isDone.pass())
        #expect(passed.read { $0 } == [start + 1])
        #expect(store.property("a")?.created == start + 1)
        let journal = Journal(HistoryLimits(), after: start)
        #expect(journal.named(0) == start)
        #expect(journal.named(7) == 7)
        #expect(journal.oldest == start)
    }
}
