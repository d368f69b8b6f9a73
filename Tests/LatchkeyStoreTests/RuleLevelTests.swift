import LatchkeyGuards
import LatchkeyStore
import LatchkeySync
import Testing

/// The rules that a store decides by.
struct RuleLevelTests {
    @Test func `a store decides by the latest rules, unless it is told others`() {
        let store = PropertyStore(
            limits: StoreLimits(),
            stripeCount: 1,
            guards: GuardSettings(.lock)
        )
        #expect(store.rules == .current)
        store.rules = .first
        #expect(store.rules == .first)
    }

    @Test func `the latest rules have the highest number, and those of 0_1 have 1`() {
        #expect(RuleLevel.first.rawValue == 1 && RuleLevel.allCases.max() == .current)
        #expect(RuleLevel(atMost: 0) == .first && RuleLevel(atMost: 1) == .first)
        #expect(RuleLevel(atMost: 2) == .second && RuleLevel(atMost: .max) == .current)
    }
}
