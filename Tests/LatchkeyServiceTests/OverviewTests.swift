import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

/// The figures of the last minutes.
struct OverviewTests {
    /// Figures that a test sets.
    private struct Figures: Sendable {
        var requests = RequestTotals()
        var acquisitions: UInt64 = 0
        var contended: UInt64 = 0
        var gauges = Overview.Gauges()
    }

    private static let second: UInt64 = 1_000_000_000
    private let figures = Synchronized<Figures, LockStrategy>(Figures())

    private func overview(at nanoseconds: UInt64) -> Overview {
        let figures = figures
        return Overview(
            Overview.Sources(
                requests: { figures.read { $0.requests } },
                acquisitions: { figures.read { ($0.acquisitions, $0.contended) } },
                gauges: { figures.read { $0.gauges } }
            ),
            at: nanoseconds
        )
    }

    @Test func `a point has what happened since the one before, in a second`() throws {
        let start = 7 * Self.second
        // Requests before the start are in no point.
        figures.write { $0.requests = RequestTotals(all: 1000, clientErrors: 100, serverErrors: 1) }
        let overview = overview(at: start)
        #expect(overview.answer(at: start).points.isEmpty)
        figures.write {
            $0.requests = RequestTotals(all: 1050, clientErrors: 110, serverErrors: 6)
            ($0.acquisitions, $0.contended) = (200, 50)
            $0.gauges.watchers = 3
        }
        overview.sample(at: start + 5 * Self.second)
        figures.write { $0.gauges.watchers = 4 }
        overview.sample(at: start + 7 * Self.second)
        let answer = overview.answer(at: start + 10 * Self.second)
        #expect(answer.uptimeSeconds == 10 && answer.watchers == 4)
        #expect(answer.requests == 1050 && answer.clientErrors == 110 && answer.serverErrors == 6)
        try #require(answer.points.count == 2)
        let (first, second) = (answer.points[0], answer.points[1])
        #expect(first.ageSeconds == 5 && first.seconds == 5 && first.watchers == 3)
        #expect(first.requestsPerSecond == 10)
        #expect(first.clientErrorsPerSecond == 2 && first.serverErrorsPerSecond == 1)
        #expect(first.acquisitionsPerSecond == 40 && first.contendedRatio == 0.25)
        #expect(second.ageSeconds == 3 && second.seconds == 2 && second.watchers == 4)
        #expect(second.requestsPerSecond == 0 && second.contendedRatio == nil)
    }

    @Test func `the points are those of the last ten minutes`() {
        let overview = overview(at: 0)
        for number in 1...1000 {
            figures.write { $0.requests.all = UInt64(number) }
            overview.sample(at: UInt64(5 * number) * Self.second)
        }
        let points = overview.answer(at: 5000 * Self.second).points
        #expect(points.count == 120)
        #expect(points.first?.ageSeconds == 595 && points.last?.ageSeconds == 0)
        #expect(points.allSatisfy { $0.requestsPerSecond == 0.2 })
    }

    @Test func `counters that were read at different moments give no negative figures`() {
        figures.write { ($0.requests.all, $0.acquisitions, $0.contended) = (10, 10, 10) }
        let overview = overview(at: 0)
        figures.write { ($0.requests.all, $0.acquisitions, $0.contended) = (9, 11, 14) }
        overview.sample(at: Self.second)
        // The time of a point is never 0.
        overview.sample(at: Self.second)
        let points = overview.answer(at: Self.second).points
        #expect(points.map(\.requestsPerSecond) == [0])
        #expect(points.map(\.contendedRatio) == [1])
    }

    @Test func `the bound that is nearest to its limit comes first`() {
        func bound(_ name: String, _ used: Int, _ limit: Int) -> ServiceBounds.Reading {
            ServiceBounds.Reading(name: name, effect: .refuses, limit: limit, used: used)
        }
        let overview = overview(at: 0)
        #expect(overview.answer(at: 0).bounds.isEmpty)
        let bounds = [bound("some", 5, 100), bound("far", 1000, 1_000_000), bound("near", 9, 10)]
        overview.start { bounds }
        #expect(overview.answer(at: 0).bounds.map(\.name) == ["near", "some", "far"])
        overview.end()
    }

    @Test func `an overview that is let go takes no more points`() {
        weak let held: Overview? = {
            let overview = overview(at: 0)
            overview.start { [] }
            return overview
        }()
        #expect(held == nil)
    }
}
