import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyTrace

/// Traces with seeded changes: they are refused with a sentence, or are replayed as any other.
struct HostileTraceTests {
    @Test(arguments: [1, 2] as [UInt64])
    func `a trace that was changed is refused, or can be replayed`(seed: UInt64) {
        var random = SeededGenerator(seed)
        var bytes = TraceHeader(sampleInterval: 16, startedMilliseconds: 1_700_000).bytes
        for index in 0..<20 {
            let kinds = TraceRecord.Kind.allCases
            TraceRecord(
                nanoseconds: UInt64(index * 1_000_000),
                key: UInt32(index % 7),
                kind: kinds[index % kinds.count],
                sizeClass: 4
            ).append(to: &bytes)
        }
        var replayedCount = 0
        for _ in 0..<Depth.count(3000, deep: 100_000) {
            do throws(InvalidTrace) {
                let trace = try Trace(random.mutated(bytes, SeededGenerator.numbers))
                let replayed = ReplayedTrace(trace, file: "a", speed: 1)
                var settings = ComparisonSettings()
                replayed.apply(to: &settings)
                replayedCount += 1
            } catch {
                #expect(error.message.hasSuffix("."))
            }
        }
        #expect(replayedCount > 0)
    }
}
