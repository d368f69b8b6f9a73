import LatchkeyMetrics
import Testing

/// The most frequent elements of a stream.
struct SpaceSavingTests {
    @Test func `counts of few elements are exact`() {
        var counts = SpaceSaving<Int>(capacity: 8)
        for number in 0..<800 { counts.add(number % 8 % 5) }
        let found = counts.entries(with: nil)
        #expect(found.map(\.element).sorted() == [0, 1, 2, 3, 4])
        #expect(found.map(\.count) == [200, 200, 200, 100, 100])
        #expect(found.allSatisfy { $0.error == 0 })
    }

    /// The errors that the algorithm promises, of one stream and of two.
    @Test(arguments: [1, 2, 7, 64]) func `counts keep their bounds`(capacity: Int) {
        var random = UInt64(capacity)
        var parts = (SpaceSaving<Int>(capacity: capacity), SpaceSaving<Int>(capacity: capacity))
        var exact: [Int: UInt64] = [:]
        for number in 0..<20_000 {
            // Each number is about half as frequent as the one before.
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let element = (random >> 8).leadingZeroBitCount * 8 + number % 8
            exact[element, default: 0] += 1
            number % 3 == 0 ? parts.1.add(element) : parts.0.add(element)
        }
        let found = parts.0.entries(with: parts.1)
        // A third of the numbers came to the second one.
        let bound = 13_333 / UInt64(capacity) + 6667 / UInt64(capacity)
        #expect(found.count <= 2 * capacity)
        for entry in found {
            let count = exact[entry.element, default: 0]
            #expect(entry.count >= count && entry.count - entry.error <= count)
            #expect(entry.error <= bound)
        }
        for (element, count) in exact where count > bound {
            #expect(found.contains { $0.element == element })
        }
        #expect(zip(found, found.dropFirst()).allSatisfy { $0.count >= $1.count })
    }
}
