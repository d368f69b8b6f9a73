import LatchkeyStrategies
import Testing

@testable import LatchkeyFrame

/// Which requests that have failed have a line in the log.
struct FailedRequestsTests {
    @Test func `some in a second have a line, and the next line counts the others`() {
        let now = Guarded<UInt64>(7_000_000_000)
        let writer = LineWriter(byteCountMax: 1 << 10) { _ in 0 }
        let log = Log(format: .text, level: .info, writer: writer)
        let failed = FailedRequests(log) { now.read { $0 } }
        let first = (0..<8).map { _ in failed.admit() }
        #expect(first == [0, 0, 0, 0, 0, nil, nil, nil])
        now.write { $0 += 999_999_999 }
        #expect(failed.admit() == nil)
        now.write { $0 += 1 }
        #expect(failed.admit() == 4)
        #expect(failed.admit() == 0)
    }
}
