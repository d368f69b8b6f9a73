import Dispatch
import LatchkeyTestSupport
import Synchronization

@testable import LatchkeyComparison
@testable import LatchkeyLab

/// A lock as a user would write one.
final class SemaphoreAsLock: RawLock {
    static var rawLockPromise: Promise<SemaphoreAsLock> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    private let free = DispatchSemaphore(value: 1)

    func lock() { free.wait() }
    func tryLock() -> Bool { free.wait(timeout: .now()) == .success }
    func unlock() { free.signal() }
}

/// Is never released, so that the second access waits without end.
struct ForgetfulLock: RawLock {
    static var rawLockPromise: Promise<Self> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    // One for all, since a semaphore that is held cannot be freed.
    private static let free = DispatchSemaphore(value: 1)

    func lock() { Self.free.wait() }
    func tryLock() -> Bool { Self.free.wait(timeout: .now()) == .success }
    func unlock() {}
}

/// Works until the first operation of a workload, and then lets no thread in.
///
/// The checks before the measurement find nothing wrong.
struct LockThatHangsLater: RawLock {
    static var rawLockPromise: Promise<Self> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    static let hangs = Atomic<Bool>(false)
    private static let never = DispatchSemaphore(value: 0)
    private let base = AdaptiveLock()

    func lock() {
        if Self.hangs.load(ordering: .relaxed) { Self.never.wait() }
        base.lock()
    }

    func tryLock() -> Bool { !Self.hangs.load(ordering: .relaxed) && base.tryLock() }
    func unlock() { base.unlock() }
}

/// Lets everybody in.
struct NoLock: RawLock {
    static var rawLockPromise: Promise<Self> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    func lock() {}
    func tryLock() -> Bool { true }
    func unlock() {}
}

/// Must not be tried before it is waited for.
struct UntriedLock: RawLock {
    static var rawLockPromise: Promise<Self> { unsafe .unchecked() }
    static let traits = StrategyTraits(tellsOfWaiting: false)
    private let base = AdaptiveLock()

    func lock() { base.lock() }
    func tryLock() -> Bool { base.tryLock() }
    func unlock() { base.unlock() }
}

/// The quickest run.
func labArguments(_ strategies: String) -> [String] {
    [
        "--strategies", strategies, "--threads", "2", "--duration", "50ms", "--repeats", "1",
        "--force",
    ]
}

/// The report of a short run of a lab.
func report<Value>(
    of lab: Lab<Value>,
    strategies: [String],
    _ change: (inout ComparisonSettings) -> Void = { _ in }
) async throws -> ComparisonReport {
    var settings = ComparisonSettings()
    settings.strategies = strategies.map { StrategyName(rawValue: $0) }
    settings.threads = [2]
    settings.durationSeconds = 0.05
    settings.repeats = 1
    change(&settings)
    let run = try ComparisonRun(settings, version: "test", catalogue: lab.prepared("bench"))
    return try run.run().report
}

/// A slice of four threads that only write.
enum LabSlice {
    static func make(name: String?) -> Slice {
        let workload = ComparisonReport.Workload(
            readRatio: 0,
            sectionNanoseconds: 0,
            outside: OutsideWork(nanoseconds: 0, scalesWithThreads: false),
            keys: 1,
            skew: .uniform,
            stripes: 1,
            arrival: .closed,
            name: name
        )
        return Slice(
            workload: workload,
            plans: (0..<4).map { OperationPlan(workload, seed: UInt64($0)) },
            cost: OperationCost(work: Work(seed: 1), sectionSteps: 1, outsideSteps: 0),
            warmUpNanoseconds: 1_000_000,
            measuredNanoseconds: 300_000_000
        )
    }
}
