import LatchkeyLab

// A lab of locks that differ by their planted work: `planted-20` holds for a fifth longer than
// `planted-0`. `Benchmarks/compare.py` runs it with the section that these shares are of.

/// Set before the first thread is made, and never afterwards.
///
/// SAFETY: so all threads read a constant value.
nonisolated(unsafe) private var stepsPerNanosecond = 0.0

/// Work that needs its own result for each step.
@inline(never)
private func work(_ value: UInt64, steps: Int) -> UInt64 {
    var value = value
    for _ in 0..<steps { value = value &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 }
    return value
}

private protocol Plant: Sendable {
    /// In percent of the section.
    static var share: Double { get }
}

private enum Nothing: Plant { static let share = 0.0 }
private enum NothingEither: Plant { static let share = 0.0 }
private enum Five: Plant { static let share = 5.0 }
private enum Ten: Plant { static let share = 10.0 }
private enum Twenty: Plant { static let share = 20.0 }
private enum Half: Plant { static let share = 50.0 }

/// The lock of `pthread-mutex`, which does some more work before it is released.
private final class PlantedLock<Planted: Plant>: RawLock {
    static var rawLockPromise: Promise<PlantedLock> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }
    /// The section of `Benchmarks/compare.py`.
    private static var sectionNanoseconds: Double { 5_000 }

    private let base = PthreadMutexLock()
    private let steps: Int

    init() {
        unsafe steps = Int(Planted.share / 100 * Self.sectionNanoseconds * stepsPerNanosecond)
    }

    func lock() { base.lock() }
    func tryLock() -> Bool { base.tryLock() }

    func unlock() {
        // The result is never 7, but the compiler does not know.
        if work(UInt64(steps), steps: steps) == 7 { print("seven") }
        base.unlock()
    }
}

/// The fastest of some rounds, which nothing disturbed.
private func measuredSteps() -> Double {
    let clock = ContinuousClock()
    let count = 1_000_000
    var value: UInt64 = 1
    let times = (0..<20).map { _ in clock.measure { value = work(value, steps: count) } }
    let least = times.min() ?? .seconds(1)
    precondition(value != 7, "The compiler does not know this.")
    return Double(count) / (least / .nanoseconds(1))
}

unsafe stepsPerNanosecond = measuredSteps()
Lab()
    .strategy("planted-0", PlantedLock<Nothing>.self)
    .strategy("planted-0-too", PlantedLock<NothingEither>.self)
    .strategy("planted-5", PlantedLock<Five>.self)
    .strategy("planted-10", PlantedLock<Ten>.self)
    .strategy("planted-20", PlantedLock<Twenty>.self)
    .strategy("planted-50", PlantedLock<Half>.self)
    .run()
