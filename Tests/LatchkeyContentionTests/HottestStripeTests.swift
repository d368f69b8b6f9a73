import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyContention

/// Which stripe of a store is the hottest, and where reports have it.
@Suite(.timeLimit(.minutes(15)))
struct HottestStripeTests {
    private let meters = ContentionMeters()

    @Test func `the stripe at which others wait is named, with its share and its number`() throws {
        let meter = ContentionMeter(LockStrategy.self, level: .sampled)
        meters.add(meter)
        let stripes = (0..<4).map { _ in
            Synchronized(0, strategy: meter.meteredStripe(LockStrategy()))
        }
        for _ in 0..<1_000 { for stripe in stripes { stripe.write { $0 += 1 } } }
        #expect(meters.report().hottest == nil)
        #expect(meters.report().rows[0].hottestStripe == nil)
        #expect(oneThreadWaits(for: stripes[2]) { meter.reading.waiters == 1 })
        let row = meters.report().rows[0]
        let stripe = try #require(row.hottestStripe)
        #expect(stripe.number == 3 && stripe.count == 4)
        #expect(stripe.waitTotalNanoseconds > 0)
        #expect(row.waitTotalNanoseconds == stripe.waitTotalNanoseconds)
        let sentence = try #require(meters.report().hottest)
        #expect(sentence.hasPrefix("Hottest: stripe 3 of 4 (lock) has 100 % of the total wait, "))
        #expect(sentence.contains("The locks are held for up to "))
        meters.reset()
        #expect(meters.report().rows[0].acquisitions.all == 0)
        #expect(meters.report().rows[0].hottestStripe == nil)
        #expect(meters.report().hottest == nil)
        #expect(oneThreadWaits(for: stripes[0]) { meter.reading.waiters == 1 })
        #expect(meters.report().rows[0].hottestStripe?.number == 1)
    }

    @Test func `a store of one stripe is the store, and comparisons are not named`() throws {
        let serving = ContentionMeter(LockStrategy.self, level: .full)
        let comparison = ContentionMeter(SpinStrategy.self, role: .comparison, level: .full)
        meters.add(serving)
        meters.add(comparison)
        let compared = Synchronized(0, strategy: comparison.metered(SpinStrategy()))
        #expect(oneThreadWaits(for: compared) { comparison.reading.waiters == 1 })
        #expect(meters.report().hottest == nil)
        let stripe = Synchronized(0, strategy: serving.meteredStripe(LockStrategy()))
        #expect(oneThreadWaits(for: stripe) { serving.reading.waiters == 1 })
        let sentence = try #require(meters.report().hottest)
        #expect(sentence.hasPrefix("Hottest: the store (lock) has 100 % of the total wait, "))
        #expect(sentence.contains(" It is held for up to "))
    }

    @Test func `rows stand by role, and then by their total wait`() {
        let strategies: [any MakeableStrategy.Type] = [
            LockStrategy.self, SpinStrategy.self, TicketStrategy.self,
        ]
        let rows = strategies.enumerated().map { index, strategy in
            let role: MeterRole = index == 2 ? .serving : .comparison
            var row = ContentionReport.Row(ContentionMeter(strategy, role: role, level: .full))
            row.waitTotalNanoseconds = UInt64(index)
            return row
        }
        let report = ContentionReport(generatedAt: .distantPast, rows: rows)
        #expect(report.rows.map(\.strategy) == ["ticket", "spin", "lock"])
    }
}
