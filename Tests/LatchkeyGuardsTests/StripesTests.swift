import LatchkeyGuards
import LatchkeyStrategies
import Testing

@Suite
struct StripesTests {
    @Test(arguments: StrategyKind.allCases)
    func `a write is seen by the next read`(kind: StrategyKind) async throws {
        let stripes = Stripes<Int>(count: 1, GuardSettings(kind)) { _ in 0 }
        let written = await withCheckedContinuation { continuation in
            try? stripes.submitWrite(0, .here(), { $0 += 1 }, published: {}) {
                continuation.resume(returning: true)
            }
        }
        #expect(written)
        let found = await withCheckedContinuation { continuation in
            try? stripes.submitRead(0, .here(), { $0 }) { continuation.resume(returning: $0) }
        }
        #expect(found == 1)
    }
}
