import Foundation
import LatchkeyStrategies
import Synchronization

// The cost of giving items to threads that wait for one: one producer, and consumers that do
// nothing else. The producer gives all items as fast as it can, or each one when the one before was
// taken. The cost is the time from the first item given to the last one taken, over all items.

/// `write(when:)` against the condition variable that a user would take instead, for 4, 16 and 64
/// consumers.
func conditions() -> [Comparison] {
    [4, 16, 64].flatMap { consumers in
        [false, true].map { isOneByOne in
            let items = isOneByOne ? "one item at a time" : "items"
            return Comparison(
                measure: "\(items) to \(consumers) consumers, write(when:) ÷ NSCondition",
                figure: .costRatio(atMost: 1.5),
                subject: Contender(name: "write(when:)") {
                    handOver(GuardedItems(), consumers, isOneByOne)
                },
                reference: Contender(name: "NSCondition") {
                    handOver(ConditionItems(), consumers, isOneByOne)
                }
            )
        }
    }
}

/// The items that the consumers wait for.
private struct Items: Sendable {
    var count = 0
    var takenCount = 0
    var isOver = false

    var hasNews: Bool { count > 0 || isOver }

    /// Takes an item if there is one; nil at the end.
    mutating func take() -> Int? {
        if count > 0 {
            count -= 1
            takenCount += 1
            return takenCount
        }
        return nil
    }
}

private protocol HandedOver: AnyObject, Sendable {
    func give()
    /// Waits for an item and takes it; how many are taken then, or nil at the end.
    func take() -> Int?
    func end()
}

private final class GuardedItems: HandedOver {
    private let items = Guarded<Items>(Items())

    func give() { items.write { $0.count += 1 } }

    func take() -> Int? { items.write(when: \.hasNews) { $0.take() } }

    func end() { items.write { $0.isOver = true } }
}

/// SAFETY: `@unchecked Sendable` because `items` is used only while the lock of `changed` is held.
private final class ConditionItems: HandedOver, @unchecked Sendable {
    private let changed = NSCondition()
    private var items = Items()

    func give() {
        changed.lock()
        items.count += 1
        changed.signal()
        changed.unlock()
    }

    func take() -> Int? {
        changed.lock()
        defer { changed.unlock() }
        while !items.hasNews {
            changed.wait()
        }
        return items.take()
    }

    func end() {
        changed.lock()
        items.isOver = true
        changed.broadcast()
        changed.unlock()
    }
}

/// Nanoseconds for each item.
private func handOver<Handed: HandedOver>(
    _ items: Handed,
    _ consumers: Int,
    _ isOneByOne: Bool
) -> Double {
    let total = isOneByOne ? 1_000 : 5_000
    let (ended, taken) = (DispatchGroup(), DispatchSemaphore(value: 0))
    let arrived = Arrived()
    for _ in 0..<consumers {
        ended.enter()
        Thread.detachNewThread {
            arrived.count.add(1, ordering: .relaxed)
            while let count = items.take() {
                if isOneByOne || count == total {
                    taken.signal()
                }
            }
            ended.leave()
        }
    }
    while arrived.count.load(ordering: .relaxed) < consumers {
        usleep(100)
    }
    // Time to fall asleep.
    usleep(2_000)
    let cost = nanoseconds(for: total) {
        for _ in 0..<total {
            items.give()
            if isOneByOne {
                taken.wait()
            }
        }
        if !isOneByOne {
            taken.wait()
        }
    }
    items.end()
    ended.wait()
    return cost
}

private final class Arrived: Sendable {
    let count = Atomic<Int>(0)
}
