import LatchkeySync
import LatchkeyTestSupport
import Testing

/// The laws catch what they are there to catch.
@Suite(.timeLimit(.minutes(1)), .serialized)
struct KnownBadStrategyTests {
    @Test func `barriers on a global queue let a second writer in`() {
        let laws = StrategyLaws(blocking: { BarrierOnGlobalQueueStrategy() })
        #expect(isCaught { laws.writersExcludeEveryone() })
    }

    @Test func `barriers on a global queue lose updates`() {
        let laws = StrategyLaws(blocking: { BarrierOnGlobalQueueStrategy() })
        #expect(isCaught { laws.noUpdateIsLost() })
    }

    @Test func `a torn spin lock loses updates`() {
        let laws = StrategyLaws(blocking: { TornSpinStrategy() })
        #expect(isCaught { laws.noUpdateIsLost() })
    }

    @Test func `a torn spin lock shows half of a write`() {
        let laws = StrategyLaws(blocking: { TornSpinStrategy() })
        #expect(isCaught { laws.readsAreWhole() })
    }

    /// Whether a law is broken in one of some attempts: these faults need two threads to meet.
    private func isCaught(_ law: () -> [StrategyLaws.Violation]) -> Bool {
        (0..<50).contains { _ in law() != [] }
    }
}
