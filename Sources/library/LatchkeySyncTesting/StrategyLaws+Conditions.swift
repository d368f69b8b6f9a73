import LatchkeySync

// The laws of threads that wait for conditions together: each is let in, also by one that gives up.
//
// **Design.** A condition is asked while the lock is held. So a write that begins after a thread's
// condition was asked finds that thread waiting. Conditions and observers are also where delays are
// planted: before and after each step of an access.

extension StrategyLaws {
    /// Threads that wait for different conditions are all let in, by one write or by each other.
    static func oneWriteLetsAllIn<Waiting: LockingStrategy>(
        _ strategy: Waiting
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        let threads = 12
        return law(of: strategy) { value, note in
            let asked = Arrivals()
            let wrong = Arrivals()
            let waiters = (0..<threads).map { index in
                TestThread {
                    let isFirst = Collected(true)
                    // The first threads are let in last.
                    let least = (threads - index) / 3
                    @Sendable func isThere(_ value: Int) -> Bool {
                        isFirst.with { isFirst in
                            if isFirst {
                                isFirst = false
                                asked.arrive()
                            }
                        }
                        return value > least
                    }
                    func check(_ value: Int) {
                        if value <= least {
                            wrong.arrive()
                        }
                    }
                    if index.isMultiple(of: 2) {
                        value.read(when: isThere) { check($0) }
                    } else {
                        value.write(when: isThere) {
                            check($0)
                            $0 += 1
                        }
                    }
                }
            }
            note(asked.wait(for: threads), "a condition is not asked")
            value.write { $0 += 1 }
            note(waiters.allSatisfy { $0.join() }, "a thread waits though its condition holds")
            note(wrong.value == 0, "a body ran while its condition did not hold")
        }
    }

    /// A thread whose deadline passes while it is chosen passes its turn on.
    ///
    ///     writer          first                       second
    ///     ------          -----                       ------
    ///                     waits until its deadline
    ///                                                 waits
    ///     adds one ─────▶ is asked, too late: gives up
    ///                                       ────────▶ takes it
    static func whoGivesUpPassesItOn<Waiting: LockingStrategy>(
        _ strategy: Waiting
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        law(of: strategy) { items, note in
            let (asked, taken) = (Arrivals(), Arrivals())
            let first = TestThread {
                let deadline = ContinuousClock.now + moment * 3
                @Sendable func isLate(_ items: Int) -> Bool {
                    asked.arrive()
                    while items > 0, ContinuousClock.now < deadline + moment {
                        Yield.now()
                    }
                    return items > 0
                }
                if items.write(when: isLate, deadline: deadline, { $0 -= 1 }) != nil {
                    taken.arrive()
                }
            }
            note(asked.wait(for: 1), "the condition is not asked")
            let second = TestThread {
                @Sendable func isThere(_ items: Int) -> Bool {
                    asked.arrive()
                    return items > 0
                }
                items.write(when: isThere) { $0 -= 1 }
            }
            note(asked.wait(for: 2), "the second condition is not asked")
            items.write { $0 += 1 }
            note(first.join(), "the wait for a condition does not end at the deadline")
            if taken.value > 0 {
                items.write { $0 += 1 }
            }
            note(second.join(), "a thread that gave up took the wake-up of another one with it")
            note(items.read { $0 } == 0, "an item was taken twice or not at all")
        }
    }

    /// A thread whose wake-up is spurious passes its turn on.
    ///
    /// The value is 1 for a moment, which the first thread waits for, and then 2, which the second
    /// one waits for. That one makes it 1 again.
    static func whoIsWokenInVainPassesItOn<Waiting: LockingStrategy>(
        _ strategy: Waiting
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        law(of: strategy) { value, note in
            var ended = true
            for _ in 0..<20 where ended {
                let asked = Arrivals()
                func waiter(for awaited: Int, _ next: Int) -> TestThread {
                    TestThread {
                        @Sendable func isThere(_ value: Int) -> Bool {
                            asked.arrive()
                            return value == awaited
                        }
                        value.write(when: isThere) { $0 = next }
                    }
                }
                let first = waiter(for: 1, 0)
                asked.wait(for: 1)
                let second = waiter(for: 2, 1)
                asked.wait(for: 2)
                value.write { $0 = 1 }
                value.write { $0 = 2 }
                ended = second.join() && first.join()
                value.write { $0 = 0 }
            }
            note(ended, "a thread that was woken in vain took the wake-up of another one with it")
        }
    }

    /// Each item is taken, and all threads end.
    ///
    /// There are consumers of every kind: patient ones, those that throw, those that give up,
    /// thieves, and readers.
    static func noItemIsLeft<Waiting: LockingStrategy>(
        _ strategy: Waiting
    ) -> [Violation] where Waiting.Lock: ConditionLock {
        let shop = Shop(items: Synchronized<ShopItems, Waiting>(ShopItems(), strategy: strategy))
        let (rounds, consumers) = (200, 3)
        let total = rounds * consumers
        return law(of: Waiting.name) { note in
            let ended = TestThread.run(consumers + 4) { index in
                switch index {
                case 0..<consumers: (0..<rounds).forEach(shop.consume)
                case consumers: (0..<total).forEach(shop.produce)
                case consumers + 1: (1...total).forEach(shop.read)
                default:
                    var round = index
                    while shop.items.read({ $0.takenCount }) < total {
                        round.isMultiple(of: 2) ? shop.steal() : shop.giveUp(round)
                        round += 1
                        Yield.now()
                    }
                }
            }
            note(ended, "a thread waits though its condition holds")
            note(shop.items.read { $0.count } == 0, "an item was taken twice or not at all")
        }
    }
}

private struct ShopItems: Sendable {
    var count = 0
    var producedCount = 0
    var takenCount = 0
}

/// The steps of producers and consumers, each late now and then.
private struct Shop<Waiting: LockingStrategy>: Sendable where Waiting.Lock: ConditionLock {
    let items: Synchronized<ShopItems, Waiting>
    let lateItems: Synchronized<ShopItems, ObservedStrategy<Waiting, DelayingObserver>>
    let late = DelayingObserver()

    init(items: Synchronized<ShopItems, Waiting>) {
        self.items = items
        lateItems = items.observed(by: late)
    }

    private struct Refusal: Error {}

    @Sendable private func isThere(_ items: ShopItems) -> Bool {
        late.delay()
        return items.count > 0
    }

    func produce(_ round: Int) {
        lateItems.write { items in
            items.count += 1
            items.producedCount += 1
        }
    }

    /// Takes an item, now and then after a body that throws.
    func consume(_ round: Int) {
        if round.isMultiple(of: 5) {
            func refuse(_ items: inout ShopItems) throws(Refusal) { throw Refusal() }
            try? lateItems.write(when: isThere, refuse)
        }
        lateItems.write(when: isThere) { items in
            items.count -= 1
            items.takenCount += 1
        }
    }

    func read(_ count: Int) {
        @Sendable func isReached(_ items: ShopItems) -> Bool { items.producedCount >= count }
        lateItems.read(when: isReached) { _ in }
    }

    /// Takes all items without waiting, and brings them back.
    func steal() {
        let count = items.write { items in
            defer { items.count = 0 }
            return items.count
        }
        lateItems.write { $0.count += count }
    }

    /// Waits for a moment, and brings back the item that it took.
    func giveUp(_ round: Int) {
        let deadline = ContinuousClock.now + .microseconds(round % 7 * 20)
        func take(_ items: inout ShopItems) { items.count -= 1 }
        let taken: Void? = lateItems.write(when: isThere, deadline: deadline, take)
        if taken != nil {
            lateItems.write { $0.count += 1 }
        }
    }
}

/// Delays each of its calls now and then.
private final class DelayingObserver: EntryObserver {
    typealias Entry = NoObserver.Entry

    static var isActive: Bool { true }

    private let calls = Collected(0)

    func delay() {
        let call = calls.with { calls in
            calls += 1
            return calls
        }
        if call % 5 < 2 {
            Yield.now()
        }
    }

    func asks(_ request: AccessRequest) -> Entry {
        delay()
        return NoObserver().asks(request)
    }

    func isBlocked(_ entry: inout Entry) { delay() }

    func enters(_ entry: inout Entry) { delay() }

    func leaves(_ entry: Entry) { delay() }

    func givesUp(_ entry: Entry) { delay() }
}
