import Glibc
public import LatchkeyStrategies

/// How much the tests try that have a short and a deep form.
///
/// `make test` runs the short form. `make unit-deep`, a stage of `make test-deep`, sets
/// `LATCHKEY_TEST_DEEP=1` and runs the deep form of all suites that name this type. That every
/// strategy keeps its promises is shown by the laws of strategies, which have one form.
public enum Depth {
    /// Whether tests run in their deep form.
    public static let isDeep = unsafe getenv("LATCHKEY_TEST_DEEP").map { unsafe $0[0] } == 49

    /// The strategies under which code is tried that is the same for all of them.
    ///
    /// In the short form one of each way to answer: in place, later on another thread, in a task,
    /// and with reads beside writes.
    public static let kinds =
        isDeep ? StrategyKind.allCases : [.lock, .serialQueueAsync, .actor, .snapshot]

    /// Seeds of random tests: one, or twenty.
    public static let seeds: ClosedRange<UInt64> = 1...(isDeep ? 20 : 1)

    /// Strategies with seeds, for random tests of code that is the same under all strategies: one
    /// seed for each of `kinds`, or twenty seeds for which all strategies take turns.
    public static let draws: [(kind: StrategyKind, seed: UInt64)] =
        isDeep
        ? seeds.map { (kinds[Int($0) % kinds.count], $0) }
        : kinds.map { ($0, seeds.lowerBound) }

    /// One of two counts: of repetitions, or of what they must have found.
    public static func count(_ short: Int, deep: Int) -> Int { isDeep ? deep : short }
}
