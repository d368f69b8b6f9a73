import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyMachine

@Suite(.timeLimit(.minutes(15)))
struct CacheLineProbeTests {
    private typealias Pair = CacheLineProbe.Pair

    @Test(arguments: [
        ("0-3,8", [0, 1, 2, 3, 8]), ("5", [5]), ("0,1", [0, 1]), ("1,0-1", [0, 1]), ("", []),
        ("a", []), ("3-1", []), ("0-", []), ("-1", []), ("0-8191", Array(0...8_191)),
        ("0-8192", []), ("1-2-3", []),
    ])
    func `a list of processors is read as the kernel writes it`(text: String, numbers: [Int]) {
        #expect(ProcessorList.numbers(text) == numbers)
    }

    @Test(arguments: [0, 1])
    func `one processor has no pair and no reading`(count: Int) {
        let probe = CacheLineProbe(processors: Array(0..<count)) { _ in
            [Float](repeating: 100, count: 100)
        }
        #expect(probe.pairs.isEmpty)
        #expect(probe.nanoseconds() == nil)
        // A pair that cannot be measured has no reading either.
        let real = CacheLineProbe(processors: [0, 1])
        for pair in [Pair(0, 0), Pair(-1, 0), Pair(0, ProcessorList.processorsMax)] {
            #expect(real.nanoseconds(pair) == nil)
        }
    }

    @Test func `eight processors have all pairs, and more have some at every distance`() {
        #expect(CacheLineProbe.pairs(of: [0, 3]) == [Pair(0, 3)])
        let eight = CacheLineProbe.pairs(of: Array(0..<8))
        #expect(eight.count == CacheLineProbe.pairsMax)
        #expect(Set(eight).count == eight.count)
        for count in 9...130 {
            let pairs = CacheLineProbe.pairs(of: (0..<count).map { 2 * $0 })
            let distances = Set(pairs.map { ($0.second - $0.first) / 2 })
            #expect(pairs.count <= CacheLineProbe.pairsMax, "\(count)")
            #expect(Set(pairs).count == pairs.count, "\(count)")
            #expect(pairs.allSatisfy { 0 <= $0.first && $0.first < $0.second })
            #expect(pairs.allSatisfy { $0.second < 2 * count })
            #expect(distances.isSuperset(of: [1, count / 2]), "\(count)")
        }
    }

    @Test func `a reading is the median of its batches`() {
        func reading(_ batches: [Float]) -> Double? {
            CacheLineProbe(processors: [0, 1]) { _ in batches }.nanoseconds()
        }
        let steady = [Float](repeating: 100, count: 20)
        #expect(reading(steady) == 100)
        // Another thread had one of the processors for a while.
        #expect(reading(steady + [Float](repeating: 50_000, count: 9)) == 100)
        #expect(reading([Float](repeating: 1, count: CacheLineProbe.batchesMin)) == 1)
        #expect(reading([Float](repeating: 1, count: CacheLineProbe.batchesMin - 1)) == nil)
        #expect(reading([Float](repeating: 0, count: 100)) == nil)
        #expect(reading([]) == nil)
    }

    @Test func `around a slice a few pairs are read, and their median counts`() {
        let asked = Mutex<[Pair]>([])
        let probe = CacheLineProbe(processors: Array(0..<16)) { pair in
            asked.withLock { $0.append(pair) }
            return [Float](repeating: pair.second == 1 ? 9_999 : 100, count: 20)
        }
        #expect(probe.nanoseconds() == 100)
        #expect(asked.withLock { Set($0) }.count == CacheLineProbe.sentinelsMax)
        #expect(asked.withLock(\.count) == CacheLineProbe.sentinelsMax)
    }

    @Test func `this machine's cache line takes a time that processors can take`() throws {
        let probe = CacheLineProbe()
        guard let pair = probe.pairs.first else {
            #expect(ProcessorList.allowed.count < 2)
            return
        }
        // Others may have the processors now and then.
        var found: Double?
        for _ in 0..<100 where found == nil { found = probe.nanoseconds(pair) }
        let reading = try #require(found)
        #expect((10...100_000).contains(reading), "\(reading)")
    }
}
