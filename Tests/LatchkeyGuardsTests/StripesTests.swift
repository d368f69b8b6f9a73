import LatchkeyGuards
import LatchkeyStrategies
import Testing

@Suite(.timeLimit(.minutes(15)))
struct StripesTests {
    @Test(arguments: StrategyKind.allCases)
    func `a write is seen by the next read`(kind: StrategyKind) async throws {
        let stripes = Stripes<Int>(count: 1, GuardSettings(kind)) { _ in 0 }
        try await withCheckedThrowingContinuation { continuation in
            do throws(BacklogFull) {
                try stripes.submitWrite(0, .here(), { $0 += 1 }, published: {}) {
                    continuation.resume()
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        let found = try await withCheckedThrowingContinuation { continuation in
            do throws(BacklogFull) {
                try stripes.submitRead(0, .here(), { $0 }) { continuation.resume(returning: $0) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        #expect(found == 1)
    }
}
