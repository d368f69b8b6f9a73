// Whether the figures of `latchkey compare` are those of the primitive itself.
//
// Prints, for one thread and for two, what a bare loop around `NSLock` takes, what one around the
// strategy `lock` takes, and what the runner says of `lock`: all without any work but one
// multiply-add inside, which is the hardest case, because nothing hides what the runner adds. The
// three are measured in turns. From the first to the second is what the library's door costs, from
// the second to the third what the runner adds.
//
//     swift run -c release AgreementBenchmark

import Dispatch
import Foundation
import LatchkeyComparison
import LatchkeySync
import Synchronization

/// More on one thread, whose target is the narrower one.
let rounds = [1: 60, 2: 15]
let seconds = 0.1

/// A loop that shares no line with the runner: `operation` until the time is up, and a count in a
/// register.
@inline(__always)
func bareOperationsPerSecond(
    threads: Int,
    _ operation: @escaping @Sendable () -> Void
) -> Double {
    let isOver = Flag()
    let total = Synchronized<Double, LockStrategy>(0)
    let start = DispatchTime.now().uptimeNanoseconds
    let left = DispatchGroup()
    for _ in 0..<threads {
        left.enter()
        Thread.detachNewThread {
            var count = 0
            while !isOver.isSet {
                operation()
                count += 1
            }
            let elapsed = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
            total.write { [count] in $0 += Double(count) / elapsed }
            left.leave()
        }
    }
    Thread.sleep(forTimeInterval: seconds)
    isOver.set()
    left.wait()
    return total.read { $0 }
}

func bareLockOperationsPerSecond(threads: Int) -> Double {
    let guarded = Guarded()
    return bareOperationsPerSecond(threads: threads) {
        guarded.lock.lock()
        guarded.value = step(guarded.value)
        guarded.lock.unlock()
    }
}

func doorOperationsPerSecond(threads: Int) -> Double {
    let guarded = Synchronized<UInt64, LockStrategy>(1)
    return bareOperationsPerSecond(threads: threads) {
        guarded.write { $0 = step($0) }
    }
}

@inline(__always)
func step(_ value: UInt64) -> UInt64 {
    value &* 6_364_136_223_846_793_005 &+ 1
}

/// SAFETY: `@unchecked Sendable` because `value` is used while `lock` is held only.
final class Guarded: @unchecked Sendable {
    let lock = NSLock()
    var value: UInt64 = 1
}

final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() {
        value.store(true, ordering: .relaxed)
    }
}

func measuredOperationsPerSecond(threads: Int) throws -> Double {
    var settings = ComparisonSettings()
    settings.strategies = [.lock]
    settings.threads = [threads]
    settings.readRatios = [0]
    settings.sectionNanoseconds = [0]
    settings.outside = [OutsideWork(nanoseconds: 0, scalesWithThreads: false)]
    settings.durationSeconds = seconds
    settings.repeats = 1
    let report = try ComparisonRun(settings, version: "benchmark").run()
    return report.cases[0].summary.operationsPerSecond.median
}

/// One line for `bench.py`: nanoseconds of one over those of another, round by round.
func printRatio(
    _ measure: String,
    _ above: [Double],
    _ below: [Double],
    target: String?,
    isMet: (_ median: Double) -> Bool?
) throws {
    let ratios = zip(above, below).map { $1 / $0 }
    let median = ComparisonReport.Spread(ratios, seed: 1).median
    let nanoseconds = 1e9 / ComparisonReport.Spread(above, seed: 1).median
    try printLine([
        "measure": measure, "ratio": median, "rounds": ratios, "unit": "ratio",
        "target": target, "isMet": isMet(median), "subject": "the first",
        "nanosecondsPerOperation": nanoseconds,
    ])
}

func printLine(_ fields: [String: Any?]) throws {
    let line = try JSONSerialization.data(
        withJSONObject: fields.compactMapValues(\.self),
        options: [.sortedKeys]
    )
    print(String(decoding: line, as: UTF8.self))
}

for (threads, rounds) in rounds.sorted(by: { $0.key < $1.key }) {
    var bare: [Double] = []
    var door: [Double] = []
    var runner: [Double] = []
    for round in 0..<rounds {
        // In turns, and each of them first as often as the others.
        for place in 0..<3 {
            switch (place + round) % 3 {
            case 0: bare.append(bareLockOperationsPerSecond(threads: threads))
            case 1: door.append(doorOperationsPerSecond(threads: threads))
            default: runner.append(try measuredOperationsPerSecond(threads: threads))
            }
        }
    }
    let place = "\(threads) thread\(threads == 1 ? "" : "s"), no work"
    try printRatio("`lock` ÷ NSLock, bare loops, \(place)", door, bare, target: nil) { _ in nil }
    if threads == 1 {
        try printRatio(
            "`lock` by compare ÷ NSLock in a bare loop, \(place)",
            runner,
            bare,
            target: "0.95 to 1.05",
            isMet: { (0.95...1.05).contains($0) }
        )
    } else {
        let (one, other) = (
            ComparisonReport.Spread(runner, seed: 1), ComparisonReport.Spread(bare, seed: 1)
        )
        try printRatio(
            "`lock` by compare ÷ NSLock in a bare loop, \(place)",
            runner,
            bare,
            target: "intervals overlap",
            isMet: { _ in
                one.intervalLow <= other.intervalHigh && other.intervalLow <= one.intervalHigh
            }
        )
    }
}
