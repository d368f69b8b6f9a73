import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyMetering

/// The order of the report, and the sentence below it.
@Suite(.timeLimit(.minutes(15)))
struct HottestLockTests {
    /// One holder that others wait for, among 20 locks that are used far more often.
    @Test(arguments: [MeteringLevel.sampled, .counts, .full])
    func `the lock that makes others wait is named first`(level: MeteringLevel) throws {
        let locks = LockMeters(level: level)
        let quiet = (0..<19).map { locks.metered("a-\($0)", 0) }
        for _ in 0..<1_000 {
            for value in quiet { value.write { $0 += 1 } }
        }
        let hot = locks.metered("hot", 0, strategy: LockStrategy())
        #expect(oneThreadWaits(for: hot) { locks.report.rows.contains { $0.waiterCount == 1 } })
        let report = locks.report
        let first = try #require(report.rows.first)
        #expect(first.lock == "hot")
        #expect(first.contendedCount == 1)
        #expect(first.waitTotal > .zero)
        #expect(report.rows.dropFirst().allSatisfy { $0.waitTotal == .zero })
        #expect(report.hottest == first)
        #expect("\(report)".contains("\nHottest: 'hot' (lock) has 100 % of the total wait, "))
        locks.reset()
        #expect(locks.report.hottest == nil)
    }

    @Test func `an access that enters at once adds nothing to the total wait`() {
        let locks = LockMeters(level: .full)
        let value = locks.metered("a", 0)
        for _ in 0..<10_000 { value.write { $0 += 1 } }
        let row = locks.report.rows.first
        #expect(row?.wait != nil)
        #expect(row?.waitTotal == .zero)
        #expect(!"\(locks.report)".contains("Hottest"))
    }

    @Test func `of any table the first row waits longest, and the sentence is true`() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let report = LockReport(rows: Self.rows(&random))
            let totals = report.rows.map(\.waitTotal)
            #expect(totals == totals.sorted(by: >))
            let lines = "\(report)".split(separator: "\n")
            guard let greatest = totals.max(), greatest > .zero else {
                #expect(report.hottest == nil)
                #expect(lines.count == 1 + report.rows.count, "nothing is named: \(report)")
                continue
            }
            let first = report.rows[0]
            #expect(first.waitTotal == greatest)
            #expect(lines[1].hasPrefix("\(first.lock) "), "\(report)")
            let pattern =
                /Hottest: '(.+)' \((.+)\) has (less than )?(\d+) % of the total wait, .+\./
            let match = try #require(lines.last?.wholeMatch(of: pattern), "\(report)")
            #expect(match.1 == first.lock)
            #expect(match.2 == first.strategy)
            let share = greatest / totals.reduce(.zero, +) * 100
            let percent = try #require(Double(match.4))
            if match.3 == nil {
                #expect(percent <= share && share < percent + 1, "\(report)")
            } else {
                #expect(share < percent, "\(report)")
            }
            // Its figures are those of the row.
            let total = try #require(lines.last?.firstMatch(of: /total wait, (\S+ \S+?)\./)?.1)
            #expect(lines[1].contains(total), "\(report)")
        }
    }

    /// Up to 200 rows, of which many do not wait, and some wait equally long.
    private static func rows(
        _ random: inout SystemRandomNumberGenerator
    ) -> [LockReport.Row] {
        let longest = [0, 3, 1_000, 1_000_000_000_000].randomElement(using: &random) ?? 0
        return (0..<Int.random(in: 0...200, using: &random)).map { index in
            let waits = Bool.random(using: &random)
            let hold = Duration.nanoseconds(Int.random(in: 1...1_000_000, using: &random))
            return LockReport.Row(
                lock: "lock-\(index)",
                strategy: ["spin", "lock"].randomElement(using: &random) ?? "",
                readCount: 0,
                writeCount: 1_000,
                contendedCount: waits ? 10 : 0,
                waiterCount: 0,
                waitTotal: .nanoseconds(waits ? Int.random(in: 0...longest, using: &random) : 0),
                wait: nil,
                hold: Bool.random(using: &random)
                    ? LockReport.Times(p50: hold, p99: hold, max: hold) : nil
            )
        }
    }
}
