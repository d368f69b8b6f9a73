import Dispatch
import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyGuards

/// Every way of leaving a strategy and entering another one, under load from several threads.
@Suite(.offPool, .timeLimit(.minutes(15)))
struct SwitchTests {
    @Test(arguments: StrategyKind.allCases)
    func `no write is lost and order is kept with one stripe`(from: StrategyKind) {
        for to in StrategyKind.allCases where to != from {
            let failures = Load(from, stripeCount: 1).run(switchingTo: [to, from])
            #expect(failures.isEmpty, "\(from) to \(to)")
        }
    }

    @Test(arguments: StrategyKind.allCases.filter { !$0.traits.prefersOneStripe })
    func `no transaction is torn with several stripes`(from: StrategyKind) {
        for to in StrategyKind.allCases where to != from && !to.traits.prefersOneStripe {
            let failures = Load(from, stripeCount: 4).run(switchingTo: [to, from])
            #expect(failures.isEmpty, "\(from) to \(to)")
        }
    }
}

/// Threads that write, read and move between stripes while the strategy is switched.
private final class Load: Sendable {
    struct Table: Sendable {
        /// Moved between stripes: the sum over all stays.
        var balance = 1000
        /// Written together.
        var pair = (0, 0)
        /// The last number of each thread that submits.
        var last = [Int](repeating: 0, count: Load.threads)
    }

    static let threads = 3
    static let operations = 150

    private let stripes: Stripes<Table>
    private let failures = Guarded<[String]>([])
    private let from: StrategyKind

    init(_ from: StrategyKind, stripeCount: Int) {
        self.from = from
        stripes = Stripes(count: stripeCount, GuardSettings(from)) { _ in Table() }
    }

    func run(switchingTo kinds: [StrategyKind]) -> [String] {
        let done = DispatchGroup()
        for thread in 0..<Self.threads {
            done.enter()
            Thread.detachNewThread { [self] in
                work(thread)
                done.leave()
            }
        }
        let isOver = Guarded(false)
        done.notify(queue: .global()) { isOver.write { $0 = true } }
        var next = 0
        while !isOver.read({ $0 }) || next < kinds.count {
            do throws(SwitchRefusal) {
                let to = kinds[next % kinds.count]
                let report = try stripes.switch(to: to) { _ in }
                if report.to != to || stripes.kind != to { fail("the report names others") }
                next += 1
            } catch {
                fail("refused: \(error)")
            }
        }
        check()
        return failures.read { $0 }
    }

    private func fail(_ text: String) { failures.write { $0.append(text) } }

    private func work(_ thread: Int) {
        let completed = DispatchGroup()
        for number in 1...Self.operations {
            let stripe = number % stripes.count
            completed.enter()
            submit(stripe) { table in
                table.pair.0 += 1
                table.pair.1 += 1
                let isInOrder = table.last[thread] < number
                table.last[thread] = number
                return isInOrder
            } completion: { [self] isInOrder in
                if !isInOrder { fail("a write came before an earlier one") }
                completed.leave()
            }
            if number % 5 == 0 { move(thread, number, completed) }
            if number % 7 == 0 { read(stripe, completed) }
        }
        completed.wait()
    }

    private func submit(
        _ stripe: Int,
        _ body: @escaping @Sendable (inout Table) -> Bool,
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        if stripes.appliesLater(stripe, .write) {
            insist { [stripes] () throws(BacklogFull) in
                try stripes.submitWrite(
                    stripe,
                    .here(),
                    body,
                    published: {},
                    completion: completion
                )
            }
        } else {
            completion(stripes.write(stripe, .here(), body, published: {}))
        }
    }

    private func move(_ thread: Int, _ number: Int, _ completed: DispatchGroup) {
        guard stripes.count > 1 else { return }
        let first = number % (stripes.count - 1)
        completed.enter()
        insist { [stripes] () throws(BacklogFull) in
            try stripes.submitWrite(
                several: [first, first + 1],
                .here(),
                { tables in
                    tables[0].balance -= 1
                    tables[1].balance += 1
                },
                published: {},
                completion: { completed.leave() }
            )
        }
    }

    private func read(_ stripe: Int, _ completed: DispatchGroup) {
        completed.enter()
        insist { [stripes, self] () throws(BacklogFull) in
            try stripes.submitRead(stripe, .here(), { $0.pair }) { [self] pair in
                if pair.0 != pair.1 { fail("a read was torn") }
                completed.leave()
            }
        }
        completed.enter()
        stripes.submitRead(several: all, .here(), sum(\.balance)) { [self] sum in
            if sum != 1000 * stripes.count { fail("a list saw half of a transaction") }
            completed.leave()
        }
    }

    private var all: [Int] { Array(0..<stripes.count) }

    private func insist(_ submit: () throws(BacklogFull) -> Void) {
        while true {
            do throws(BacklogFull) { return try submit() } catch { continue }
        }
    }

    private func check() {
        let isDone = DispatchSemaphore(value: 0)
        stripes.submitRead(several: all, .here(), sum(\.pair.0)) { [self] sum in
            if sum != Self.threads * Self.operations { fail("\(sum) writes were applied") }
            isDone.signal()
        }
        isDone.wait()
        if stripes.backlogCount != 0 { fail("a backlog is left") }
    }
}

/// A read of several values that adds up a part of each.
func sum<Value>(
    _ part: @escaping @Sendable (Value) -> Int
) -> @Sendable (((Value) -> Void) -> Void) -> Int {
    { lend in
        var sum = 0
        lend { sum += part($0) }
        return sum
    }
}
