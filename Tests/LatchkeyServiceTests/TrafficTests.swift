import LatchkeyStrategies
import Testing

@testable import LatchkeyFrame

/// The time that the figures of traffic are of.
struct TrafficTests {
    @Test func `the figures are of the last one to two minutes`() {
        let now = Guarded<UInt64>(5_000_000_000)
        let traffic = Traffic { now.read { $0 } }
        func wait(_ seconds: UInt64) { now.write { $0 += seconds * 1_000_000_000 } }
        func names() -> [String] { traffic.reading(for: .anybody).names.map(\.text) }
        for _ in 0..<3 { traffic.note(Array("a/b".utf8), token: "t") }
        traffic.note(Array("c".utf8), token: nil)
        wait(8)
        let first = traffic.reading(for: .anybody)
        #expect(first.seconds == 8 && first.perSecond == 32)
        #expect(first.names.map(\.text) == ["a/b", "c"])
        #expect(first.names.map(\.perSecond) == [24, 8])
        #expect(first.prefixes.map(\.text) == ["a/"] && first.tokens?.map(\.text) == ["t"])
        wait(60)
        traffic.note(Array("d".utf8), token: nil)
        let both = traffic.reading(for: .anybody)
        #expect(both.seconds == 68 && both.names.map(\.text) == ["a/b", "d", "c"])
        wait(55)
        #expect(names() == ["d"])
        wait(300)
        #expect(names() == [])
        #expect(traffic.reading(for: .unknown).tokens == nil)
    }
}
