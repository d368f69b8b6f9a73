import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Several values, each behind a guard of its own.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct StripedTests {
    @Test func `there are 128 stripes unless told otherwise`() {
        let values = Striped<Int, LockStrategy> { $0 }
        #expect(values.count == 128)
        #expect(values.readAll { $0 } == Array(0..<128))
    }

    @Test(arguments: [1, 2, 64, 1024])
    func `every hash has a stripe`(count: Int) {
        let values = Striped<Int, LockStrategy>(count: count) { $0 }
        for hash in [0, 1, -1, .max, .min, 4711] {
            let stripe = values.index(hash: hash)
            #expect(values.read(stripe) { $0 } == stripe)
        }
    }

    @Test func `the number of stripes is a power of two within bounds`() {
        #expect([1, 2, 128, 1024].allSatisfy(StripeCount.isValid))
        #expect(![-1, 0, 3, 127, 1025, 2048].contains(where: StripeCount.isValid))
    }

    @Test(arguments: [0, 3, 2048])
    func `another number of stripes stops`(count: Int) async {
        await #expect(processExitsWith: .failure) { [count] in
            _ = Striped<Int, LockStrategy>(count: count) { $0 }
        }
    }

    @Test func `a stripe that is not there stops`() async {
        await #expect(processExitsWith: .failure) {
            Striped<Int, LockStrategy>(count: 4) { $0 }.write(4) { $0 += 1 }
        }
    }

    /// Under every strategy, one writer goes through the stripes in order, adding one to each.
    ///
    /// At one moment they are the same up to some stripe and one less from there on.
    @Test(arguments: StrategyKind.allCases)
    func `reading all stripes is a consistent cut`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(ConsistentCut()) } == 0)
    }

    /// In a process of its own, because a stack that overflows ends it.
    @Test(arguments: StrategyKind.allCases.filter { $0 != .actor })
    func `as many stripes as there can be are read on a small stack, issue 7`(
        kind: StrategyKind
    ) async {
        await #expect(processExitsWith: .success) { [name = kind.rawValue as String] in
            let ended = DispatchSemaphore(value: 0)
            let thread = Thread {
                precondition(StrategyKind(rawValue: name)?.accept(SumOfAll()) == 1024)
                ended.signal()
            }
            thread.stackSize = 128 * 1024
            thread.start()
            ended.wait()
        }
    }

    @Test func `the observer hears of each stripe`() {
        let observer = RecordingObserver()
        let values = Striped<Int, LockStrategy>(count: 4) { $0 }
        values.observed(by: observer).readAll { _ in }
        #expect(observer.accesses == Array(repeating: [.asks(.read), .enters, .leaves], count: 4))
    }

    @Test func `the values are freed with the stripes`() {
        let freed = Arrivals()
        do {
            let values = Striped<Tracked, SnapshotStrategy>(count: 8) { _ in Tracked(freed) }
            values.write(3) { $0 = Tracked(freed) }
        }
        // Readers elsewhere in the process may hold the one that was replaced.
        #expect(freed.wait(for: 9))
    }
}

/// Adds up the values of the greatest number of stripes, and writes to one before and after.
private struct SumOfAll: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Int { 0 }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Int {
        let values = Striped<Int, ChosenStrategy>(count: StripeCount.max) { _ in 1 }
        values.write(7) { $0 += 1 }
        let sum = values.readAll { $0.reduce(0, +) }
        values.write(7) { $0 += 1 }
        return sum - 1
    }
}

/// Counts the cuts that no moment of the writer explains.
private struct ConsistentCut: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Int {
        let values = Striped<Int, ChosenStrategy>(count: 8) { _ in 0 }
        let (torn, written) = (Arrivals(), Arrivals())
        let ended = TestThread.run(3) { index in
            for round in 0..<40 {
                if index == 0 {
                    for stripe in 0..<values.count {
                        try? values.submitWrite(
                            stripe,
                            { $0 += 1 },
                            completion: { written.arrive() }
                        )
                        // An asynchronous write is waited for, so that the next follows it.
                        written.wait(for: round * values.count + stripe + 1)
                    }
                } else {
                    let seen = Gate()
                    values.submitReadAll(
                        { values in
                            let isOrdered = zip(values, values.dropFirst()).allSatisfy { $0 >= $1 }
                            let spread = (values.first ?? 0) - (values.last ?? 0)
                            if !isOrdered || spread > 1 {
                                torn.arrive()
                            }
                        },
                        completion: { seen.open() }
                    )
                    seen.pass()
                }
            }
        }
        return ended ? torn.value : -1
    }
}
