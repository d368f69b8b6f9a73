import Foundation
public import LatchkeySync
import Synchronization

// The laws of progress: what may delay an access, and for how long.
//
// **Design.** Work is counted, not timed: a value that is destroyed tells on which thread. An order
// of waiting cannot be seen from outside, so a law gives each waiter time to begin to wait, and is
// broken if most of some attempts come out in another order.

extension StrategyLaws {
    /// A read does a limited part of the work that writers leave, however much that is and however
    /// long they go on.
    ///
    /// Counted in values that are destroyed on the reader's thread. Nothing is tried unless reads
    /// go on during writes (``StrategyTraits/readsDuringWrites``): elsewhere writers replace
    /// nothing while a reader is inside.
    ///
    /// Two reads are tried. While the first one is inside, a writer replaces `writes` values. When
    /// the second one leaves, each value that ends on its thread waits for one more write:
    ///
    ///     reader                             writer
    ///     ------                             ------
    ///     enters
    ///     inside ──────────────────────────▶ replaces the value
    ///     leaves ◀──────────────────────────
    ///     a value ends, on this thread ────▶ replaces the value
    ///     must be outside by now ◀──────────
    ///
    /// - Parameters:
    ///   - make: Makes a strategy for one value.
    ///   - bound: How many values one read may free.
    ///   - writes: How many values are replaced meanwhile.
    /// - Returns: A sentence for each way in which the law was broken.
    public static func readsFreeFewValues<ChosenStrategy: BlockingStrategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy,
        bound: Int = 1000,
        writes: Int = 5000
    ) -> [Violation] {
        guard ChosenStrategy.traits.readsDuringWrites else {
            return []
        }
        return law(of: ChosenStrategy.name) { note in
            for goesOn in [false, true] {
                let counts = EndCounts()
                let value = Synchronized(EndCounter(counts), strategy: make())
                let reader = Holder { stay in
                    value.read { _ in
                        stay()
                        counts.begin(goesOn ? writes : 0)
                    }
                    counts.end()
                }
                note(reader.isInside, "a reader cannot enter")
                for _ in 0..<(goesOn ? 1 : writes) {
                    value.write { $0 = EndCounter(counts) }
                }
                reader.letGo()
                while counts.isWriteWanted {
                    value.write { $0 = EndCounter(counts) }
                    counts.hasWritten()
                }
                note(reader.leaves(), "a reader hangs")
                let freed = counts.onReader
                note(freed <= bound, "one read freed \(freed) values, more than \(bound)")
                note(
                    eventually { counts.all == counts.replaced },
                    "\(counts.replaced - counts.all) values are kept though all is quiet"
                )
            }
        }
    }

    /// A read waits neither for a writer that stays inside nor for writers that follow each other.
    ///
    /// Nothing is tried unless reads go on during writes (``StrategyTraits/readsDuringWrites``).
    /// Each of 100 reads has to end within the bound, in one of some attempts: a thread can lose
    /// its processor in a read, but hardly in each attempt, which is shorter than a time slice.
    ///
    ///     writer                 reader
    ///     ------                 ------
    ///     enters
    ///     inside ──────────────▶ reads
    ///     leaves ◀──────────────
    ///     enters, again and
    ///     again                  reads
    ///
    /// - Parameters:
    ///   - make: Makes a strategy for one value.
    ///   - bound: How long one read may take.
    ///   - attempts: How often it is tried at most.
    /// - Returns: A sentence for each way in which the law was broken.
    public static func readsTakeNoTime<ChosenStrategy: BlockingStrategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy,
        bound: Duration = .milliseconds(10),
        attempts: Int = 20
    ) -> [Violation] {
        guard ChosenStrategy.traits.readsDuringWrites else {
            return []
        }
        return law(of: make()) { value, note in
            func isShort() -> Bool {
                (0..<attempts).contains { _ in
                    (0..<100).allSatisfy { _ in
                        ContinuousClock().measure { value.read { _ in } } <= bound
                    }
                }
            }
            let (inside, leave, over) = (Gate(), Gate(), Arrivals())
            let writer = TestThread {
                value.write { _ in
                    inside.open()
                    leave.pass()
                }
                value.write { $0 += 1 }
                inside.open()
                while over.value == 0 {
                    value.write { $0 += 1 }
                }
            }
            note(inside.pass(), "a writer cannot enter")
            note(isShort(), "a read waits for a writer that stays inside")
            leave.open()
            note(inside.pass(), "a writer cannot leave")
            note(isShort(), "a read waits for writers that follow each other")
            over.arrive()
            note(writer.join(), "a writer hangs")
        }
    }

    /// Callers enter in the order in which they began to wait, whether they read or write, and a
    /// caller that has just left comes last.
    ///
    /// Nothing is tried unless that is promised (``StrategyTraits/handsOffFairly``).
    ///
    ///     holder                 waiters
    ///     ------                 -------
    ///     enters
    ///     inside ──────────────▶ begin to wait, one after the other
    ///     leaves
    ///     asks again             enter, in this order
    ///     enters
    public func waitersEnterInOrder(waiters: Int = 3) -> [Violation] {
        guard traits.handsOffFairly else {
            return []
        }
        let expected = Array(0...waiters)
        var others: [[Int]] = []
        for _ in 0..<3 {
            let order = orderOfEntry(waiters)
            if order != expected {
                others.append(order)
            }
        }
        return others.count < 2 ? [] : ["\(name): those who waited entered in the order \(others)"]
    }

    /// The numbers of the waiters, by entry; the last is that of the caller that left before.
    private func orderOfEntry(_ waiters: Int) -> [Int] {
        let subject = makeSubject()
        let entered = Collected<[Int]>([])
        let holder = Holder { stay in
            subject.write { _ in stay() }
            subject.write { _ in entered.with { $0.append(waiters) } }
        }
        let threads = (0..<waiters).map { number in
            let arrived = Gate()
            let thread = TestThread {
                arrived.open()
                subject.enter(number.isMultiple(of: 2) ? .write : .read) { _ in
                    entered.with { $0.append(number) }
                }
            }
            arrived.pass()
            // No thread opens this one: it is the time in which the thread begins to wait.
            _ = Gate().staysClosed
            return thread
        }
        let ended = [holder.leaves()] + threads.map { $0.join() }
        return ended.contains(false) ? [] : entered.with { $0 }
    }
}

/// Says on which thread it was destroyed.
private final class EndCounter: Sendable {
    private let counts: EndCounts

    init(_ counts: EndCounts) {
        self.counts = counts
        counts.isMade()
    }

    deinit {
        counts.isEnded()
    }
}

/// The fate of the values of one try.
///
/// SAFETY: `@unchecked Sendable` because the variables are used only while `changed` is locked.
private final class EndCounts: @unchecked Sendable {
    private let changed = NSCondition()
    private var reader: Thread?
    private var isOver = false
    private var wantedMax = 0
    private var isWanted = false
    private var counts = (made: 0, ended: 0, onReader: 0)

    var replaced: Int { locked { counts.made - 1 } }
    var all: Int { locked { counts.ended } }
    var onReader: Int { locked { counts.onReader } }

    /// The calling thread is about to leave; the first values that end there want further ones.
    func begin(_ wantedMax: Int) {
        locked {
            reader = Thread.current
            self.wantedMax = wantedMax
        }
    }

    /// The calling thread has left.
    func end() {
        locked {
            isOver = true
            changed.broadcast()
        }
    }

    func isMade() {
        locked { counts.made += 1 }
    }

    func isEnded() {
        locked {
            counts.ended += 1
            guard reader == Thread.current, !isOver else {
                return
            }
            counts.onReader += 1
            guard counts.onReader <= wantedMax else {
                return
            }
            isWanted = true
            changed.broadcast()
            while isWanted {
                changed.wait()
            }
        }
    }

    /// Waits until a value wants to be followed by another one; false when the reader has left.
    var isWriteWanted: Bool {
        locked {
            while !isWanted && !isOver {
                changed.wait()
            }
            return isWanted
        }
    }

    func hasWritten() {
        locked {
            isWanted = false
            changed.broadcast()
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        changed.lock()
        defer { changed.unlock() }
        return body()
    }
}
