import Dispatch
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

@Suite(.timeLimit(.minutes(15)), .serialized, .offPool)
struct VerdictTests {
    @Test(arguments: StrategyKind.allCases)
    func `every strategy passes every check`(kind: StrategyKind) async {
        let verdicts = StrategyVerdicts.check(kind, seed: 1)
        #expect(verdicts.map(\.check) == [.counts, .tornReads, .linearizability])
        #expect(verdicts.allSatisfy { $0.strategy == kind.rawValue })
        for verdict in verdicts {
            #expect(verdict.outcome == .passed, "\(verdict)")
            #expect(verdict.checkedCount > 0)
        }
    }

    @Test func `a spin lock that tests and sets in two steps fails every check`() async {
        await expectFailures { StrategyVerdicts.check(blocking: TornSpinStrategy(), seed: $0) }
    }

    @Test func `a strategy that fails also fails through the submitting access functions`() async {
        await expectFailures { StrategyVerdicts.check(submitting: TornSpinStrategy(), seed: $0) }
    }

    /// Which of the checks catches it first is chance, so there is more than one try for all of
    /// them, each on its own, to say so.
    private func expectFailures(
        _ check: @escaping @Sendable (_ seed: UInt64) -> [ComparisonReport.Verdict]
    ) async {
        let triesMax = 20 as UInt64
        var missing = Set<ComparisonReport.Verdict.Check>([.counts, .tornReads, .linearizability])
        for seed in 1...triesMax where !missing.isEmpty {
            let verdicts = check(seed)
            #expect(verdicts.count == 3)
            #expect(verdicts.contains { $0.outcome == .failed }, "\(verdicts)")
            for verdict in verdicts {
                #expect(verdict.strategy == "torn-spin")
                #expect((verdict.finding == nil) == (verdict.outcome == .passed))
            }
            missing.subtract(verdicts.filter { $0.outcome == .failed }.map(\.check))
        }
        #expect(missing.isEmpty)
    }

    @Test func `a strategy that never lets anybody in fails within the bound`() async {
        defer { HangingLock.gate.signal() }
        for isBlocking in [true, false] {
            let bound = BoundedWait(seconds: 0.1)
            let verdicts =
                isBlocking
                ? StrategyVerdicts.check(blocking: HangingStrategy(), seed: 1, bound: bound)
                : StrategyVerdicts.check(submitting: HangingStrategy(), seed: 1, bound: bound)
            #expect(verdicts.map(\.outcome) == [.failed])
            #expect(verdicts.first?.finding?.contains("did not return") == true)
        }
    }

    @Test func `a check that hangs can be interrupted`() async {
        defer { HangingLock.gate.signal() }
        let verdicts = StrategyVerdicts.check(
            blocking: HangingStrategy(),
            seed: 1,
            bound: BoundedWait(isInterrupted: { true })
        )
        #expect(verdicts.isEmpty)
    }
}

/// Lets no thread in until a test that is over opens the gate, so that no thread stays behind.
private typealias HangingStrategy = RawLockStrategy<HangingLock>

private struct HangingLock: RawLock {
    static var rawLockPromise: Promise<Self> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    static let name = "hanging"
    static let gate = DispatchSemaphore(value: 0)

    func lock() {
        Self.gate.wait()
        Self.gate.signal()
    }

    func tryLock() -> Bool { false }

    func unlock() {}
}
