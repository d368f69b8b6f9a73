import Dispatch
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

@Suite(.timeLimit(.minutes(15)), .serialized, .offPool)
struct VerdictTests {
    @Test(arguments: StrategyKind.allCases)
    func `every strategy keeps the laws`(kind: StrategyKind) {
        let verdicts = StrategyVerdicts.check(kind)
        #expect(verdicts.map(\.check) == [.laws])
        for verdict in verdicts {
            #expect(verdict.strategy == kind.rawValue)
            #expect(verdict.outcome == .passed && verdict.finding == nil, "\(verdict)")
            #expect(verdict.checkedCount == 5)
        }
    }

    @Test func `a broken law is reported with the strategy's name`() throws {
        let torn = try #require(
            StrategyVerdicts.check(blocking: { TornSpinStrategy() }, as: "mine").first
        )
        #expect(torn.strategy == "mine" && torn.outcome == .failed && torn.checkedCount == 5)
        let finding = try #require(torn.finding)
        #expect(finding.hasPrefix("It broke a law: ") && finding.hasSuffix("."))
        #expect(finding.contains("updates were lost"), "\(finding)")
        #expect(!finding.contains("blocking"), "\(finding)")
        #expect(!torn.isHang)
    }

    @Test func `a strategy that fails also fails through the submitting access functions`() throws {
        let torn = try #require(
            StrategyVerdicts.check(submitting: { TornSpinStrategy() }, as: "mine").first
        )
        #expect(torn.outcome == .failed && torn.finding?.contains("updates were lost") == true)
    }

    @Test func `readers that pass a writer are found`() throws {
        let found = try #require(
            StrategyVerdicts.check(
                blocking: { RawLockStrategy<PassingReadersLock>() },
                as: "passing"
            ).first
        )
        #expect(found.finding?.contains("a write went in while a reader was inside") == true)
    }

    @Test func `a strategy whose backlog has room for one keeps the laws`() {
        let verdicts = StrategyVerdicts.check(
            submitting: { SerialQueueAsyncStrategy(backlogMax: 1) },
            as: "small"
        )
        #expect(verdicts.map(\.outcome) == [.passed], "\(verdicts)")
    }

    @Test func `a strategy that never lets anybody in fails within the bound`() {
        typealias HangingStrategy = RawLockStrategy<HangingLock<FirstGate>>
        defer { FirstGate.gate.signal() }
        for isBlocking in [true, false] {
            let bound = BoundedWait(seconds: 0.1)
            let verdicts =
                isBlocking
                ? StrategyVerdicts.check(blocking: { HangingStrategy() }, as: "a", bound: bound)
                : StrategyVerdicts.check(submitting: { HangingStrategy() }, as: "a", bound: bound)
            #expect(verdicts.map(\.outcome) == [.failed])
            #expect(verdicts.first?.finding?.contains("did not return") == true)
            #expect(verdicts.first?.isHang == true)
        }
    }

    @Test func `a check that hangs can be interrupted`() {
        defer { SecondGate.gate.signal() }
        let verdicts = StrategyVerdicts.check(
            blocking: { RawLockStrategy<HangingLock<SecondGate>>() },
            as: "a",
            bound: BoundedWait(isInterrupted: { true })
        )
        #expect(verdicts.isEmpty)
    }
}

/// Lets no thread in until the test opens its gate at its end, so that no thread is left.
private struct HangingLock<Gate: GateOfTest>: RawLock {
    static var rawLockPromise: Promise<Self> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    func lock() {
        Gate.gate.wait()
        Gate.gate.signal()
    }

    func tryLock() -> Bool { false }

    func unlock() {}
}

private protocol GateOfTest { static var gate: DispatchSemaphore { get } }

private enum FirstGate: GateOfTest { static let gate = DispatchSemaphore(value: 0) }

private enum SecondGate: GateOfTest { static let gate = DispatchSemaphore(value: 0) }
