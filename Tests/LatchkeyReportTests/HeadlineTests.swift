import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Which strategy is named, who is passed over, and how ties are broken.
struct HeadlineTests {
    private func found(_ report: ComparisonReport) -> ComparisonReport.Recommendation {
        ComparisonReport.Recommendation(report)
    }

    /// As `--preset convoy` gave it: `spin` is ahead, and few of its threads do the work.
    private var convoy: ComparisonReport {
        ComparisonReport.plain([
            .lock: [8: steady(400e3)], .spin: [8: steady(480e3)], .mutex: [8: steady(100e3)],
        ]).with(.spin) { $0.jainIndex = 0.57 }
    }

    @Test func `who starves threads is passed over, by name and with the reason`() throws {
        let found = found(convoy)
        #expect(found.strategies == ["lock"])
        #expect(found.outcome == .one)
        #expect(found.passedOver.map(\.strategy) == ["spin"])
        #expect(
            found.passedOver.first?.reason
                == "`spin` is passed over, although it is ahead by 20 %, because it starves "
                + "threads: Jain's index is 0.57 on 8 threads."
        )
        let report = convoy.concluded()
        let page = try String(decoding: ReportPage(report).html(), as: UTF8.self)
        let terminal = TerminalReport(report, style: TerminalStyle(width: 180, usesColor: false))
        for text in [page, terminal.text, MarkdownReport(report).text] {
            #expect(text.contains("`spin` is passed over, although it is ahead by 20 %"))
        }
        #expect(found.sentence.contains("4.00 times as many as the next best, `mutex`"))
    }

    @Test(arguments: [(0.79, ["lock"]), (0.8, ["spin"])])
    func `below 0.8 of Jain's index threads starve`(index: Double, expected: [String]) {
        #expect(found(convoy.with(.spin) { $0.jainIndex = index }).strategies == expected)
    }

    @Test func `one unfair case is enough, and a strategy that is behind is not mentioned`() {
        let report = ComparisonReport.plain([
            .lock: [1: steady(4e6), 8: steady(4e6)], .spin: [1: steady(9e6), 8: steady(8e6)],
            .mutex: [1: steady(1e6), 8: steady(1e6)],
        ])
        let unfair = report.with(.spin, threads: 8) { $0.jainIndex = 0.3 }
            .with(.mutex) { $0.jainIndex = 0.2 }
        #expect(found(unfair).strategies == ["lock"])
        #expect(found(unfair).passedOver.map(\.strategy) == ["spin"])
        #expect(!found(unfair).flip.contains("spin"), "what is passed over changes no answer")
    }

    @Test(arguments: [(9.0, 2), (10, 1)])
    func `a p99 wait of ten times the best of those tied is starvation, too`(
        factor: Double,
        tiedCount: Int
    ) {
        let report = ComparisonReport.plain([
            .lock: [8: steady(400e3)], .spin: [8: steady(401e3)], .mutex: [8: steady(100e3)],
        ]).with(.lock) { $0.wait = .sample(p50: 100) }
            .with(.spin) { $0.wait = .sample(p50: 100 * factor) }
        let found = found(report)
        #expect(found.strategies.count == tiedCount)
        #expect(found.strategies.first == "lock")
        #expect(found.passedOver.map(\.strategy) == (tiedCount == 1 ? ["spin"] : []))
    }

    @Test func `waits below the first bucket are not told apart`() {
        let report = ComparisonReport.plain([
            .lock: [8: steady(400e3)], .spin: [8: steady(401e3)], .mutex: [8: steady(100e3)],
        ]).with(.lock) { $0.wait = .sample(p50: 0.1) }
            .with(.spin) { $0.wait = .sample(p50: 4) }
        #expect(found(report).passedOver.isEmpty)
    }

    @Test func `if every strategy starves threads none is recommended, and it is said why`() {
        let report = ComparisonReport.plain([
            .lock: [8: steady(4e6)], .spin: [8: steady(8e6)],
        ]).with(.lock) { $0.jainIndex = 0.5 }.with(.spin) { $0.jainIndex = 0.5 }
        #expect(found(report).outcome == .refused)
        #expect(found(report).sentence.contains("no strategy is fit: `spin`: it starves threads"))
        #expect(found(report).passedOver.count == 2)
    }

    // MARK: Ties

    private var tie: ComparisonReport {
        ComparisonReport.plain([
            .lock: [8: steady(400e3)], .spin: [8: steady(401e3)], .adaptive: [8: steady(399e3)],
            .mutex: [8: steady(100e3)],
        ])
    }

    @Test func `a tie goes to the fairest, then to short waits, then to processor time`() {
        let fair = tie.with(.lock) { $0.jainIndex = 0.97 }.with(.spin) { $0.jainIndex = 0.85 }
            .with(.adaptive) { $0.jainIndex = 0.84 }
        #expect(found(fair).strategies.first == "lock")
        #expect(found(fair).outcome == .several)
        #expect(
            found(fair).sentence.hasPrefix(
                "Use `lock`: no difference was found between `lock`, `spin` and `adaptive`, and of "
                    + "these it is the fairest (Jain's index 0.97, `spin` 0.85). On 8 "
            ),
            "\(found(fair).sentence)"
        )
        let quick = tie.with(.lock) { $0.wait = .sample(p50: 300) }
            .with(.spin) { $0.wait = .sample(p50: 900) }
            .with(.adaptive) { $0.wait = .sample(p50: 100) }
        #expect(found(quick).strategies.first == "adaptive")
        #expect(found(quick).sentence.contains("is the one with the shortest p99 wait (2.00 µs, "))
        let stalls = tie.with(.lock) { $0.wait = .sample(p50: 300) }
            .with(.spin) { $0.wait = .sample(p50: 300) }
            .with(.adaptive) {
                $0.wait = .sample(p50: 300)
                $0.wait?.maxNanoseconds = 10_000
            }
        #expect(found(stalls).sentence.contains("`adaptive`: no"))
        #expect(found(stalls).sentence.contains("the shortest longest wait (10.0 µs, "))
        let cheap = tie.with(.lock) { $0.cpuSecondsPerMillionOperations = 2 }
            .with(.spin) { $0.cpuSecondsPerMillionOperations = 1 }
            .with(.adaptive) { $0.cpuSecondsPerMillionOperations = 1.2 }
        #expect(found(cheap).strategies.first == "spin")
        #expect(found(cheap).sentence.contains("takes the least processor time (1.00 µs per op"))
    }

    @Test func `fairness goes before waits, and a small difference of it does not`() {
        func report(_ index: Double) -> ComparisonReport {
            tie.with(.lock) {
                $0.jainIndex = 0.99
                $0.wait = .sample(p50: 900)
            }.with(.spin) {
                $0.jainIndex = index
                $0.wait = .sample(p50: 100)
            }.with(.adaptive) {
                $0.jainIndex = index
                $0.wait = .sample(p50: 100)
            }
        }
        #expect(found(report(0.9)).strategies.first == "lock")
        #expect(found(report(0.97)).strategies.first == "spin")
    }

    @Test func `the margin is told against the next and against lock, also in a tie`() {
        let report = ComparisonReport.plain([
            .lock: [8: steady(250e3)], .spin: [8: steady(401e3)], .adaptive: [8: steady(399e3)],
            .mutex: [8: steady(300e3)],
        ]).with(.adaptive) { $0.jainIndex = 0.9 }
        #expect(found(report).strategies == ["spin", "adaptive"])
        let sentence = found(report).sentence
        let margin = ", 34 % more than the next best, `mutex` (interval: 31 % to 36 %)"
        #expect(sentence.contains(margin))
        #expect(sentence.contains(", and 60 % more than `lock` (interval: 57 % to 64 %)."))
    }

    @Test func `a strategy with two modes gives way to a steady one that is not behind it`() {
        let report = ComparisonReport.plain([
            .lock: [4: steady(1e6)], .spin: [4: [1e5, 3e6, 1.01e5, 3.1e6, 3.05e6]],
        ])
        #expect(found(report).strategies == ["lock"])
        #expect(found(report).passedOver.map(\.strategy) == ["spin"])
        let reason = "two modes, and its slowest repeats are behind `lock`"
        #expect(found(report).passedOver.first?.reason.contains(reason) == true)
    }

    @Test func `a mean over cases has the cases beside it`() {
        let few = ComparisonReport.plain([
            .lock: [1: steady(4e6), 8: steady(1e6)], .spin: [1: steady(2e6), 8: steady(0.5e6)],
        ])
        #expect(
            found(few).sentence.contains("(geometric mean: 4.00M on 1 thread, 1.00M on 8 threads)")
        )
        var many = few
        many.cases = (1...10).flatMap { number in
            few.cases.filter { $0.threads == 1 }.map { entry in
                var entry = entry
                entry.workload.keys = number
                return entry
            }
        }
        let mean = "(geometric mean of 10 cases, from 4.00M on 1 thread"
        #expect(found(many).sentence.contains(mean))
    }

    // MARK: Noise

    @Test func `noise widens what can be claimed, and a collapse is claimed all the same`() {
        let small = ComparisonReport.plain([
            .lock: [8: steady(1e6)], .spin: [8: steady(1.06e6)],
        ])
        let great = ComparisonReport.plain([
            .lock: [8: steady(7e6)], .mutex: [8: steady(7e6 / 177)],
        ])
        #expect(found(small).strategies == ["spin"])
        #expect(found(great).strategies == ["lock"])
        // 0.16 of two processors.
        let leastRatio = ComparisonReport.Conditions.leastRatio(lostShare: 0.08)
        var (busySmall, busyGreat) = (small, great)
        busySmall.conditions.leastRatio = leastRatio
        busyGreat.conditions.leastRatio = leastRatio
        #expect(found(busySmall).outcome == .several)
        #expect(found(busyGreat).strategies == ["lock"])
        #expect(found(busyGreat).outcome == .one)
    }
}
