import Foundation
import LatchkeyStrategies
import LatchkeySyncTesting

// A custom lock, used like those of the library and tested by the same laws.

let scores = Synchronized<[String: Int], RawLockStrategy<BackoffLock>>([:])
DispatchQueue.concurrentPerform(iterations: 4) { _ in
    for _ in 0..<1000 {
        scores.write { $0["ada", default: 0] += 1 }
    }
}
print("backoff: ada has \(scores.read { $0["ada", default: 0] })")

let counter = AccessCounter()
let counted = Synchronized(
    0,
    strategy: ObservedStrategy(RawLockStrategy<BackoffLock>(), by: counter)
)
for _ in 0..<10 {
    counted.write { $0 += 1 }
}
print("backoff: \(counter.count) accesses counted")

func report(_ name: String, _ violations: [String]) {
    print("\(name): " + (violations.isEmpty ? "keeps the laws" : "breaks a law"))
}

report("backoff", StrategyLaws.violations { RawLockStrategy<BackoffLock>() })
report(
    "counting",
    StrategyLaws.violations {
        ObservedStrategy(RawLockStrategy<BackoffLock>(), by: AccessCounter())
    }
)

// A race needs two threads to meet, so it is looked for more than once.
let broken = StrategyLaws(blocking: { RawLockStrategy<BrokenLock>() })
report("broken", (0..<50).lazy.map { _ in broken.noUpdateIsLost() }.first { $0 != [] } ?? [])
