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

    @Test(arguments: Depth.kinds)
    func `a store, its journal and its hook begin behind a revision`(kind: StrategyKind) {
        kind.accept(BeginningLater())
    }
}

private struct BeginningLater: StrategyVisitor {
    private static let start: Revision = 1 << 50

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) {
        let start = Self.start
        let passed = Synchronized<[Revision], LockStrategy>([])
        let received = Gate()
        let hook = CommitHook { commit, _ in
            passed.write { $0.append(commit.revision) }
            received.open()
        }
        let store = BlockingStore<HookedStore<ChosenStrategy>>(
            stripeCount: 4,
            after: start,
            hook: hook
        )
        #expect(store.base.usage.revision == start)
        #expect(store.list(limit: 1).revision == start, "an empty store waits for nothing")
        #expect(store.value("a") == nil)
        let isDone = Gate()
        do {
            try store.base.commit(.increment(.owning("a"), by: 1)) { decision in
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
