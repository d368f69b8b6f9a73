import Foundation
import LatchkeyStrategies
import Synchronization

// Reads of `snapshot` in nanoseconds, and the cost of ended threads for its writers.

/// A row of the table: a read beside one of `lock`.
func snapshotReads(threads: Int, atMost nanoseconds: Double) -> Comparison {
    Comparison(
        measure: "snapshot read, \(threads) thread\(threads == 1 ? "" : "s")",
        figure: .nanoseconds(atMost: nanoseconds),
        subject: Contender(name: "snapshot") {
            race(Reads<SnapshotStrategy>.self, threads, 60).wall
        },
        reference: Contender(name: "lock") {
            race(Reads<LockStrategy>.self, threads, 60).wall
        }
    )
}

private final class Reads<ChosenStrategy: BlockingStrategy & MakeableStrategy>: Raced {
    private let value = Synchronized<Int, ChosenStrategy>(1)

    @inline(__always)
    func once() {
        value.read { precondition($0 == 1) }
    }

    func check(operations: Int) {}
}

/// Prints a row: writes after many threads have read and ended, against writes before.
///
/// Last of all rows, because the traces of the threads stay in the process.
func measureThreadsComeAndGone(_ threads: Int) throws {
    let value = Synchronized<Int, SnapshotStrategy>(1)
    let before = (0..<9).map { _ in writes(value) }
    readOnceEach(threads, value)
    let after = (0..<9).map { _ in writes(value) }
    try report(
        measure: "snapshot write after \(threads) threads ÷ before",
        unit: "cost ratio",
        values: zip(after, before).map(/),
        atMost: 1.5,
        note: "snapshot, after",
        nanoseconds: after.sorted()[4]
    )
}

private func writes(_ value: Synchronized<Int, SnapshotStrategy>) -> Double {
    let operations = 20_000
    return nanoseconds(for: operations) {
        for _ in 0..<operations {
            value.write { $0 = 1 }
        }
    }
}

/// This many threads, all alive at once, read `value` once each.
private func readOnceEach(_ threads: Int, _ value: Synchronized<Int, SnapshotStrategy>) {
    let (started, ended) = (DispatchGroup(), DispatchGroup())
    let leaving = DispatchSemaphore(value: 0)
    for _ in 0..<threads {
        started.enter()
        ended.enter()
        let thread = Thread {
            value.read { precondition($0 == 1) }
            started.leave()
            leaving.wait()
            ended.leave()
        }
        thread.stackSize = 128 * 1024
        thread.start()
    }
    started.wait()
    for _ in 0..<threads {
        leaving.signal()
    }
    ended.wait()
}
