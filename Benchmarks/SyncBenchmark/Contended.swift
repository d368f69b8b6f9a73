import Foundation
import Glibc
import LatchkeyStrategies
import Synchronization

// The cost of a strategy when threads outnumber the processors: all threads use one value for a
// fixed time, with nothing to do outside of it. The cost is the time over all operations.

/// Every thread adds one to a guarded integer, or looks a key up in a guarded dictionary.
struct Contended: StrategyVisitor {
    let threads = 8
    let milliseconds: UInt32 = 200
    let reads: Bool

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Contender {
        preconditionFailure("\(ChosenStrategy.name) has no blocking access functions.")
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Contender {
        Contender(name: "\(ChosenStrategy.name), \(threads) threads") { [self] in
            if reads {
                let entries = (0..<100).map { ($0, $0) }
                let table = Synchronized<[Int: Int], ChosenStrategy>(
                    Dictionary(uniqueKeysWithValues: entries)
                )
                return contended(threads, milliseconds) {
                    table.read { precondition($0[42] == 42) }
                }
            }
            let counter = Synchronized<Int, ChosenStrategy>(0)
            return contended(threads, milliseconds) {
                counter.write { $0 &+= 1 }
            }
        }
    }
}

/// Runs `operation` over and over on `threads` threads; returns nanoseconds for each of all.
@inline(__always)
func contended(
    _ threads: Int,
    _ milliseconds: UInt32,
    _ operation: @escaping @Sendable () -> Void
) -> Double {
    let race = Race()
    let ended = DispatchGroup()
    for _ in 0..<threads {
        ended.enter()
        Thread.detachNewThread {
            race.arrived.add(1, ordering: .relaxed)
            while race.phase.load(ordering: .relaxed) == 0 {
                sched_yield()
            }
            var operations = 0
            while race.phase.load(ordering: .relaxed) == 1 {
                operation()
                operations &+= 1
            }
            race.operations.add(operations, ordering: .relaxed)
            ended.leave()
        }
    }
    while race.arrived.load(ordering: .relaxed) < threads {
        sched_yield()
    }
    let begin = DispatchTime.now().uptimeNanoseconds
    race.phase.store(1, ordering: .relaxed)
    usleep(milliseconds * 1000)
    race.phase.store(2, ordering: .relaxed)
    let elapsed = DispatchTime.now().uptimeNanoseconds - begin
    ended.wait()
    return Double(elapsed) / Double(max(1, race.operations.load(ordering: .relaxed)))
}

/// The starting line: 0 waiting, 1 running, 2 over.
private final class Race: Sendable {
    let phase = Atomic<Int>(0)
    let arrived = Atomic<Int>(0)
    let operations = Atomic<Int>(0)
}
