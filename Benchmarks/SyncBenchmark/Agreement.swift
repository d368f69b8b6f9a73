import Foundation
import LatchkeyComparison
import LatchkeyStrategies

// Whether the figures of `latchkey compare` are those of the primitive itself: what a bare loop
// around `NSLock` takes, what one around the strategy `lock` takes, and what `compare` says of
// `lock`. All without any work but one multiply-add inside, which is the hardest case, because
// nothing hides what the runner adds.

/// From the first to the second is what the library's access function costs, from the second to
/// the third what the runner adds.
func agreement(threads: Int) -> [Comparison] {
    let milliseconds: UInt32 = 100
    let place = "\(threads) thread\(threads == 1 ? "" : "s"), no work"
    let bare = Contender(name: "NSLock in a bare loop") {
        let guarded = GuardedNumber()
        return contended(threads, milliseconds) { guarded.advance() }
    }
    let library = Contender(name: "lock in a bare loop") {
        let guarded = Synchronized<UInt64, LockStrategy>(1)
        return contended(threads, milliseconds) { guarded.write { $0 = step($0) } }
    }
    let runner = Contender(name: "lock by compare") {
        var settings = ComparisonSettings()
        settings.strategies = [.lock]
        settings.threads = [threads]
        settings.readRatios = [0]
        settings.haveNoWork()
        settings.durationSeconds = Double(milliseconds) / 1000
        settings.repeats = 1
        let run = try? ComparisonRun(settings, version: "benchmark").run()
        return run?.report.cases.first?.summary.nanosecondsPerOperation ?? .nan
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

@inline(__always)
private func step(_ value: UInt64) -> UInt64 {
    value &* 6_364_136_223_846_793_005 &+ 1
}

/// SAFETY: `@unchecked Sendable` because `value` is used while `lock` is held only.
private final class GuardedNumber: @unchecked Sendable {
    private let lock = NSLock()
    private var value: UInt64 = 1

    @inline(__always)
    func advance() {
        lock.lock()
        value = step(value)
        lock.unlock()
    }
}
