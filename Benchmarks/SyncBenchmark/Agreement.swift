import Foundation
import LatchkeyComparison
import LatchkeyStrategies
import Synchronization

// Whether the figures of `latchkey compare` are those of the primitive itself: the time of a bare
// loop around a primitive, and the time by `compare` for the strategy with that primitive. The only
// work inside is one multiply-add, which is the hardest case, because nothing hides the cost of the
// runner.

private let milliseconds: UInt32 = 100

/// One thread: the time that a strategy adds to a loop without a lock, by `compare` and by our
/// loop.
///
/// The loop without a lock is the same for both: under a lock, most of the work of `compare`'s own
/// loop is hidden.
func agreementAboveNoLock() -> [Comparison] {
    [
        (StrategyKind.lock, "NSLock", { bareLoop(GuardedByLock(NSLock())) }),
        (.recursiveLock, "NSRecursiveLock", { bareLoop(GuardedByLock(NSRecursiveLock())) }),
        // It has no primitive outside of the library.
        (.adaptive, "adaptive", { bareLoop(Synchronized<UInt64, AdaptiveStrategy>(1)) }),
        (.mutex, "Mutex", { bareLoop(GuardedByMutex()) }),
    ].map { (kind: StrategyKind, primitive, loop: @escaping () -> Double) in
        Comparison(
            measure: "`\(kind.rawValue)` by compare ÷ bare loop, above no lock, 1 thread, no work",
            figure: .costRatioWithin(0.95...1.05),
            subject: Contender(name: "\(kind.rawValue) by compare") {
                scattered { byCompare(kind, threads: 1) } - bareLoop(Unguarded())
            },
            reference: Contender(name: "\(primitive) in a bare loop") {
                scattered(loop) - bareLoop(Unguarded())
            }
        )
    }
}

/// `lock` and `NSLock` on some threads: the library's loop adds the cost of the access function to
/// the bare loop, and `compare` adds that of the runner.
func agreement(threads: Int) -> [Comparison] {
    let place = "\(threads) thread\(threads == 1 ? "" : "s"), no work"
    let bare = Contender(name: "NSLock in a bare loop") {
        bareLoop(GuardedByLock(NSLock()), threads: threads)
    }
    let library = Contender(name: "lock in a bare loop") {
        let guarded = Synchronized<UInt64, LockStrategy>(1)
        return contended(threads, milliseconds) { guarded.write { $0 = step($0) } }
    }
    let runner = Contender(name: "lock by compare") {
        byCompare(.lock, threads: threads)
    }
    return [
        Comparison(
            measure: "`lock` ÷ NSLock, bare loops, \(place)",
            figure: .costRatio(atMost: nil),
            subject: library,
            reference: bare
        ),
        Comparison(
            measure: "`lock` by compare ÷ NSLock in a bare loop, \(place)",
            figure: threads == 1 ? .costRatioWithin(0.95...1.05) : .overlap,
            subject: runner,
            reference: bare
        ),
    ]
}

/// Runs `body` while some other objects are alive.
///
/// So the objects of `body` are in other cache lines from round to round. A lock and a value in one
/// line cost up to 3 ns less than in two, in every measurement.
func scattered<Result>(_ body: () -> Result) -> Result {
    let others = (0..<Int.random(in: 0..<64)).map { _ in
        [UInt8](repeating: 0, count: Int.random(in: 1..<64))
    }
    return withExtendedLifetime(others, body)
}

/// Nanoseconds for an operation without work, as `latchkey compare` measures them.
private func byCompare(_ kind: StrategyKind, threads: Int) -> Double {
    var settings = ComparisonSettings()
    settings.strategies = [.init(kind)]
    settings.threads = [threads]
    settings.readRatios = [0]
    settings.haveNoWork()
    settings.durationSeconds = Double(milliseconds) / 1000
    settings.repeats = 1
    let run = try? ComparisonRun(settings, version: "benchmark").run()
    return run?.report.cases.first?.summary.nanosecondsPerOperation ?? .nan
}

/// Nanoseconds for an operation of a loop around `guarded`, whose type the compiler knows here.
@inline(__always)
private func bareLoop<Guarded: GuardedNumber>(_ guarded: Guarded, threads: Int = 1) -> Double {
    contended(threads, milliseconds) { guarded.advance() }
}

@inline(__always)
private func step(_ value: UInt64) -> UInt64 {
    value &* 6_364_136_223_846_793_005 &+ 1
}

/// A number under a primitive.
private protocol GuardedNumber: Sendable {
    func advance()
}

/// SAFETY: `@unchecked Sendable` because one thread uses it.
private final class Unguarded: GuardedNumber, @unchecked Sendable {
    private var value: UInt64 = 1

    @inline(__always)
    func advance() {
        value = step(value)
    }
}

/// SAFETY: `@unchecked Sendable` because `value` is used while `lock` is held only.
private final class GuardedByLock<Lock: NSLocking>: GuardedNumber, @unchecked Sendable {
    private let lock: Lock
    private var value: UInt64 = 1

    init(_ lock: Lock) { self.lock = lock }

    @inline(__always)
    func advance() {
        lock.lock()
        value = step(value)
        lock.unlock()
    }
}

extension Synchronized<UInt64, AdaptiveStrategy>: GuardedNumber {
    @inline(__always)
    func advance() {
        write { $0 = step($0) }
    }
}

private final class GuardedByMutex: GuardedNumber {
    private let value = Mutex<UInt64>(1)

    @inline(__always)
    func advance() {
        value.withLock { $0 = step($0) }
    }
}
