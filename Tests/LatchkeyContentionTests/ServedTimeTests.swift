import LatchkeyMetrics
import LatchkeyStrategies
import Synchronization
import Testing

@testable import LatchkeyContention

/// How long each strategy has served, in reports and scrapes.
@Suite struct ServedTimes {
    private let clock = Clock()
    private let meters: ContentionMeters

    private final class Clock: Sendable {
        private let time = Atomic<UInt64>(1)

        var now: UInt64 { time.load(ordering: .relaxed) }

        func pass(seconds: UInt64) { time.wrappingAdd(seconds * 1_000_000_000, ordering: .relaxed) }
    }

    init() {
        meters = ContentionMeters(clock: { [clock] in clock.now })
        serve(.lock)
        meters.add(ContentionMeter(SpinStrategy.self, role: .comparison, level: .full))
    }

    @discardableResult private func serve(_ kind: StrategyKind) -> ContentionMeter {
        meters.serving(kind) {
            ContentionMeter(strategy: kind.rawValue, traits: kind.traits, level: .full)
        }
    }

    private var rows: [String] {
        meters.report().rows.map { row in
            "\(row.strategy) \(row.servedSeconds ?? -1) \(row.servesNow.map { "\($0)" } ?? "-")"
        }
    }

    @Test func `begin and end with a switch`() {
        clock.pass(seconds: 2)
        #expect(rows == ["lock 2.0 true", "spin -1.0 -"])
        serve(.adaptive)
        clock.pass(seconds: 1)
        #expect(rows == ["lock 3.0 true", "adaptive 0.0 false", "spin -1.0 -"])
        meters.switched(to: .adaptive)
        clock.pass(seconds: 4)
        #expect(rows == ["adaptive 4.0 true", "lock 3.0 false", "spin -1.0 -"])
        meters.switched(to: .adaptive)
        meters.switched(to: .lock)
        clock.pass(seconds: 1)
        #expect(rows == ["lock 4.0 true", "adaptive 4.0 false", "spin -1.0 -"])
    }

    @Test func `begin again with a reset, and go on in a scrape`() {
        let served = "latchkey_strategy_served_seconds_total"
        let registry = MetricRegistry()
        meters.register(in: registry)
        var samples: [Substring] {
            String(decoding: registry.text(.text), as: UTF8.self).split(separator: "\n")
                .filter { $0.hasPrefix(served) }
        }
        clock.pass(seconds: 2)
        serve(.adaptive)
        meters.switched(to: .adaptive)
        clock.pass(seconds: 1)
        meters.reset()
        clock.pass(seconds: 5)
        #expect(rows == ["adaptive 5.0 true", "lock 0.0 false", "spin -1.0 -"])
        func sample(_ strategy: String, _ seconds: String) -> Substring {
            #"\#(served){strategy="\#(strategy)",role="serving"} \#(seconds)"#
        }
        #expect(samples == [sample("lock", "2.0"), sample("adaptive", "6.0")])
    }

    @Test func `are of one meter for each strategy, which is kept`() {
        let lock = serve(.lock)
        let adaptive = serve(.adaptive)
        meters.switched(to: .adaptive)
        #expect(serve(.lock) === lock)
        #expect(serve(.adaptive) === adaptive)
        for meter in [lock, adaptive, adaptive] { Reset.record(10, in: meter) }
        #expect(meters.servingCounts.acquisitions == 3)
    }

    @Test func `the backlog is that of the strategy that serves`() {
        meters.observeBacklog { 7 }
        serve(.adaptive)
        #expect(meters.report().rows.map(\.backlog) == [7, 0, 0])
        meters.switched(to: .adaptive)
        #expect(meters.report().rows.map(\.backlog) == [7, 0, 0])
        #expect(meters.report().rows[0].strategy == "adaptive")
    }

    /// Waits under earlier strategies are past.
    @Test func `the hottest lock is one of the strategy that serves`() throws {
        let lock = serve(.lock)
        let probe = ContentionProbe(lock, traits: lock.traits)
        var entry = probe.asks(AccessRequest(.write))
        probe.isBlocked(&entry)
        probe.enters(&entry)
        #expect(try #require(meters.report().hottest).contains("the store (lock)"))
        serve(.adaptive)
        meters.switched(to: .adaptive)
        #expect(meters.report().hottest == nil)
        meters.switched(to: .lock)
        #expect(try #require(meters.report().hottest).contains("the store (lock)"))
    }
}
