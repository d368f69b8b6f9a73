import LatchkeyHTTP
import LatchkeyMetrics
import LatchkeyTestSupport
import Testing

@testable import LatchkeyAccess
@testable import LatchkeyService

/// The rate of a client, with a clock of the test.
@Suite
struct RateLimitTests {
    private func limit(
        _ rate: Int,
        burst: Int? = nil,
        mode: RateSettings.Mode = .refuse,
        _ clock: TestClock
    ) throws -> RateLimit {
        var settings = RateSettings()
        settings.rate = rate
        settings.burst = burst
        settings.mode = mode
        clock.advance(1_000_000_000_000)
        return try #require(RateLimit(settings, MetricRegistry(), clock: clock.read))
    }

    private let client = ClientKey(tokenNumber: 1)

    @Test func `a burst is served, and then one request for each interval`() throws {
        let clock = TestClock()
        let limit = try limit(10, burst: 3, clock)
        for _ in 0..<3 { #expect(limit.take(client) == nil) }
        #expect(limit.take(client) == 100_000_000)
        // Another client is not affected, nor does what was refused count.
        #expect(limit.take(ClientKey(tokenNumber: 2)) == nil)
        clock.advance(99_999_999)
        #expect(limit.take(client) == 1)
        clock.advance(1)
        #expect(limit.take(client) == nil)
        #expect(limit.take(client) == 100_000_000)
        clock.advance(1_000_000_000)
        for _ in 0..<3 { #expect(limit.take(client) == nil) }
        #expect(limit.take(client) != nil)
    }

    /// The laws of the algorithm over random times: no span has more than its part, and a client
    /// that waits as long as it is told is served.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `no span of time has more requests than it may`(seed: UInt64) throws {
        var random = SeededGenerator(seed)
        let clock = TestClock()
        let (rate, burst) = (
            Int.random(in: 1...1000, using: &random), Int.random(in: 1...20, using: &random)
        )
        let interval = 1_000_000_000 / UInt64(rate)
        let limit = try limit(rate, burst: burst, clock)
        var served: [UInt64] = []
        for _ in 0..<2000 {
            clock.advance(
                .random(in: 0...interval * 2, using: &random) * .random(in: 0...1, using: &random)
            )
            let wait = limit.take(client)
            if let wait, Bool.random(using: &random) {
                clock.advance(wait)
                #expect(limit.take(client) == nil)
            }
            if wait == nil { served.append(clock.read()) }
        }
        for (first, time) in served.enumerated() {
            for last in first..<min(served.count, first + 3 * burst) {
                let span = served[last] - time
                #expect(UInt64(last - first + 1) <= UInt64(burst) + span / interval + 1)
            }
        }
    }

    @Test func `clients beyond the bound are served, and forgotten ones make room`() throws {
        let clock = TestClock()
        let limit = try limit(1, burst: 1, clock)
        for number in 0..<UInt64(2 * RateLimit.clientCountMax) {
            #expect(limit.take(ClientKey(tokenNumber: number)) == nil)
        }
        let refused = (0..<UInt64(1000)).count { limit.take(ClientKey(tokenNumber: $0)) != nil }
        #expect(refused > 900)
        clock.advance(2_000_000_000)
        let last = ClientKey(tokenNumber: .max)
        #expect(limit.take(last) == nil)
        #expect(limit.take(last) != nil)
    }

    @Test func `counting refuses nothing`() throws {
        let limit = try limit(1, burst: 1, mode: .count, TestClock())
        for _ in 0..<10 { #expect(limit.take(client) == nil) }
    }
}
