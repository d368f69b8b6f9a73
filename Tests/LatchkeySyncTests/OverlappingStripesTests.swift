import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Threads whose sets of stripes overlap: few stripes are entered one inside the other, more of
/// them by a list, and a reader enters all.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct OverlappingStripesTests {
    @Test(arguments: StrategyKind.allCases)
    func `writes to overlapping stripes end, and none is lost`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(OverlappingWrites()) } == [])
    }
}

private struct OverlappingWrites: StrategyVisitor {
    private static let stripeCount = 8
    private static let threadCount = 4
    private static let writeCount = 60

    /// The stripes of a write, which are the bits of a number that follows from its place.
    private static func stripes(_ thread: Int, _ turn: Int) -> [Int] {
        let bits = (thread * 91 + turn * 37) % 255 + 1
        return (0..<stripeCount).filter { bits >> $0 & 1 == 1 }
    }

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        let values = Striped<Int, ChosenStrategy>(count: Self.stripeCount) { _ in 0 }
        let ended = Arrivals()
        let refused = Arrivals()
        let threads = (0..<Self.threadCount).map { thread in
            TestThread {
                for turn in 0..<Self.writeCount {
                    do throws(BacklogFull) {
                        try values.submitWrite(
                            several: Self.stripes(thread, turn),
                            { inside in
                                for index in inside.indices { inside[index] += 1 }
                            },
                            completion: { ended.arrive() }
                        )
                    } catch {
                        refused.arrive()
                    }
                    values.submitReadAll({ _ in }, completion: { ended.arrive() })
                }
            }
        }
        for thread in threads { thread.join() }
        let count = 2 * Self.threadCount * Self.writeCount
        guard refused.value == 0, ended.wait(for: count) else {
            return ["\(ended.value) of \(count) accesses ended, \(refused.value) were refused"]
        }
        let seen = Collected<[Int]>([])
        let read = Gate()
        values.submitReadAll({ all in seen.with { $0 = all } }, completion: { read.open() })
        read.pass()
        var expected = Array(repeating: 0, count: Self.stripeCount)
        for thread in 0..<Self.threadCount {
            for turn in 0..<Self.writeCount {
                for stripe in Self.stripes(thread, turn) { expected[stripe] += 1 }
            }
        }
        let found = seen.with { $0 }
        return found == expected ? [] : ["the stripes hold \(found), not \(expected)"]
    }
}
