import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyReport

/// Which strategy is named: the current one stays, limits disqualify, and preference decides.
struct HeadlineTests {
    private func found(_ report: ComparisonReport) -> ComparisonReport.Recommendation {
        ComparisonReport.Recommendation(report)
    }

    // MARK: The current one stays

    @Test(arguments: [(1.09, "lock"), (1.13, "adaptive")])
    func `the current strategy stays unless another is better by 10 %`(
        factor: Double,
        expected: String
    ) {
        let report = ComparisonReport.plain([
            .lock: [4: steady(1e6)], .adaptive: [4: steady(factor * 1e6)],
        ])
        #expect(found(report).strategies.first == expected)
        #expect(found(report).current == "lock")
    }

    @Test func `better on average, without confidence, is no difference`() {
        let report = ComparisonReport.plain([
            .lock: [4: [1e6, 1.1e6, 0.9e6, 1e6, 1e6]],
            .adaptive: [4: [1.4e6, 1.0e6, 1.3e6, 1.25e6, 1.2e6]],
        ])
        #expect(found(report).sentence == "No difference found: keep `lock`.")
        #expect(found(report).notes.contains { $0.hasPrefix("Perhaps better: `adaptive`: ") })
    }

    @Test func `what disturbs a round disturbs both, and cancels in the ratios within it`() {
        // Apart, the intervals are 3M to 6M and 3.9M to 7.8M.
        let rounds = [6e6, 3e6, 5.9e6, 3.1e6, 6.1e6]
        let report = ComparisonReport.plain([
            .lock: [4: rounds], .adaptive: [4: rounds.map { 1.3 * $0 }],
        ])
        #expect(found(report).sentence == "Use `adaptive`: 30 % more than `lock` on 4 threads.")
    }

    @Test func `worse by more than 10 % in one case, it does not replace the current one`() {
        func report(_ atEight: Double) -> ComparisonReport {
            ComparisonReport.plain([
                .lock: [2: steady(1e6), 8: steady(1e6)],
                .adaptive: [2: steady(2e6), 8: steady(atEight)],
            ])
        }
        #expect(found(report(0.91e6)).strategies.first == "adaptive")
        let slower = found(report(0.85e6))
        #expect(slower.strategies.first == "lock")
        #expect(
            slower.sentence
                == "Keep `lock`: `adaptive` is faster on average, but not in every case."
        )
        #expect(slower.flip == "Except: `adaptive` on 2 threads: 2 times as many.")
        #expect(
            slower.passedOver.map(\.reason) == [
                "`adaptive` is passed over (30 % more than `lock` over all cases): `lock` is "
                    + "better on 8 threads (18 % more)."
            ]
        )
    }

    @Test func `a current strategy that collapses is not kept for where it does not`() {
        var report = ComparisonReport.plain([
            .mutex: [4: steady(7.6e6), 8: steady(35e3)], .lock: [4: steady(5.4e6), 8: steady(6e6)],
        ])
        report.settings.current = .mutex
        #expect(
            found(report).sentence == "Use `lock`: 171 times as many as `mutex` on 8 threads."
        )
        #expect(found(report).flip == "Except: `mutex` on 4 threads: 41 % more.")
        #expect(
            found(report).news == ["Not here: `mutex` collapses above 4 threads: 217 times slower."]
        )
    }

    @Test func `the current strategy is the one that the user names`() {
        var report = ComparisonReport.plain([
            .lock: [4: steady(1.05e6)], .semaphore: [4: steady(1e6)],
        ])
        #expect(found(report).sentence == "No difference of 10 % found: keep `lock`.")
        report.settings.current = StrategyName(.semaphore)
        #expect(found(report).sentence == "No difference of 10 % found: keep `semaphore`.")
    }

    @Test func `if it was not measured, the most preferred one stands in, and it is said`() {
        let report = ComparisonReport.plain([
            .spin: [4: steady(1e6)], .semaphore: [4: steady(1e6)],
        ])
        #expect(
            found(report).sentence
                == "No difference found: use `semaphore` (`lock` was not measured)."
        )
        #expect(found(report).notes.contains("`lock` is not ranked: `semaphore` stands in for it."))
        let better = ComparisonReport.plain([
            .spin: [4: steady(1.5e6)], .semaphore: [4: steady(1e6)],
        ])
        #expect(
            found(better).sentence
                == "Use `spin`: 50 % more than `semaphore` on 4 threads (`lock` was not measured)."
        )
    }

    @Test func `a current strategy that failed a check does not stay`() {
        var report = ComparisonReport.plain([
            .lock: [4: steady(2e6)], .semaphore: [4: steady(1e6)], .spin: [4: steady(1e6)],
        ])
        report.verdicts = [
            .init(strategy: "lock", check: .counts, outcome: .failed, checkedCount: 1)
        ]
        #expect(found(report).sentence == "Use `semaphore`: `lock` failed the check 'counts'.")
        #expect(found(report).news == ["Not here: `lock` fails the check 'counts'."])
        var reading = ComparisonReport.plain([
            .lock: [4: steady(1e6)], .snapshot: [4: steady(9e6)], .spin: [4: steady(1e6)],
        ])
        for index in reading.cases.indices { reading.cases[index].workload.readRatio = 0.95 }
        reading.verdicts = report.verdicts
        #expect(
            found(reading).sentence
                == "Use `snapshot`, whose writers copy the value: `lock` failed the check 'counts'."
        )
    }

    // MARK: Preference

    @Test func `of those that are equally good, traits decide and not noise`() {
        func named(_ spin: Double, _ adaptive: Double, _ semaphore: Double) -> String? {
            found(
                ComparisonReport.plain([
                    .lock: [8: steady(1e6)], .spin: [8: steady(spin)],
                    .adaptive: [8: steady(adaptive)], .semaphore: [8: steady(semaphore)],
                ])
            ).strategies.first
        }
        #expect(named(1.50e6, 1.45e6, 1.40e6) == "semaphore", "what the platform ships")
        #expect(named(1.50e6, 1.45e6, 1e6) == "adaptive", "what blocks in the end")
        #expect(named(1.50e6, 1.3e6, 1.2e6) == "spin", "what is better for sure")
    }

    @Test func `the order of preference is by traits`() {
        let kinds: [StrategyKind] = [
            .actor, .snapshot, .spin, .adaptive, .monitor, .mutex, .recursiveLock, .semaphore,
            .lock,
        ]
        let report = SampleReport(strategies: kinds, threads: [1]).make()
        let names = kinds.map(\.rawValue)
        #expect(
            Preference(report).sorted(names) == [
                "lock", "semaphore", "recursive-lock", "actor", "mutex", "monitor", "snapshot",
                "adaptive", "spin",
            ]
        )
        #expect(Preference(report).sorted(names.reversed()) == Preference(report).sorted(names))
    }

    @Test func `a program's own strategy is preferred by the traits that it has`() {
        func named(_ traits: StrategyTraits) -> String? {
            var report = ComparisonReport.plain([
                .lock: [8: steady(1e6)], .adaptive: [8: steady(1.5e6)], .spin: [8: steady(1.5e6)],
            ])
            report.rename(.spin, to: "own")
            report.ownStrategies = [.init("own", traits)]
            return found(report).strategies.first
        }
        #expect(named(StrategyTraits.unknown) == "own", "it blocks, and adaptive spins before")
        #expect(named(StrategyTraits(spins: true, keepsPolling: true)) == "adaptive")
        #expect(named(StrategyTraits(readsDuringWrites: true)) == "adaptive", "it copies")
    }

    @Test(arguments: [(0.5, "lock"), (0.89, "lock"), (0.9, "snapshot"), (0.99, "snapshot")])
    func `what copies is recommended where reads dominate, and writers are told of`(
        readRatio: Double,
        expected: String
    ) {
        let found = found(
            ComparisonReport.plain(
                [.lock: [8: steady(1e6)], .snapshot: [8: steady(3e6)]],
                workload: SampleReport.workload(readRatio: readRatio)
            )
        )
        #expect(found.strategies.first == expected)
        #expect(
            found.sentence
                == (expected == "lock"
                    ? "Keep `lock`: `snapshot` is faster, but its writers copy."
                    : "Use `snapshot`, whose writers copy the value: 3.00 times as many as `lock` "
                        + "on 8 threads.")
        )
    }

    // MARK: Limits

    private func pair(_ change: (inout ComparisonReport.Summary) -> Void) -> ComparisonReport {
        ComparisonReport.plain([.lock: [8: steady(1e6)], .spin: [8: steady(1.5e6)]]).with(.lock) {
            $0.wait = .sample(p50: 1)
            $0.cpuSecondsPerMillionOperations = 0.4
        }.with(.spin, change)
    }

    /// Of two threads, one gets this part of its fair share.
    private func shared(_ share: Double, lock: Double = 1) -> ComparisonReport {
        var report = ComparisonReport.plain([
            .lock: [2: steady(1e6)], .spin: [2: steady(1.5e6)],
        ])
        for index in report.cases.indices {
            let share = report.cases[index].strategy == "lock" ? lock : share
            for place in report.cases[index].repeats.indices {
                let half = Double(report.cases[index].repeats[place].operations) / 2
                report.cases[index].repeats[place].operationsPerThread = [
                    Int(half * share), Int(half * (2 - share)),
                ]
            }
        }
        return report
    }

    @Test(arguments: [(0.34, "spin"), (0.33, "lock")])
    func `a thread has to get a third of its share`(share: Double, expected: String) {
        #expect(found(shared(share)).strategies.first == expected)
    }

    @Test func `who starves a thread is told with its figure, and only where others do not`() {
        let starving = found(shared(0.12))
        #expect(starving.strategies.first == "lock")
        #expect(starving.sentence.contains("`spin` is faster, but it breaks a limit."))
        #expect(
            starving.news == ["Not here: `spin` leaves a thread 12 % of its share on 2 threads."]
        )
        #expect(found(shared(0.12, lock: 0.1)).strategies.first == "spin", "the machine does it")
    }

    @Test func `a wait of 1 µs does not disqualify because the best bucket is 100 ns`() {
        let report = pair { $0.wait = .sample(p50: 50) }
        #expect(report.cases[0].summary.wait?.p99Nanoseconds == 20)
        #expect(report.cases[1].summary.wait?.p99Nanoseconds == 1_000)
        #expect(found(report).strategies.first == "spin")
        #expect(found(report).passedOver.isEmpty && found(report).news.isEmpty)
    }

    @Test(arguments: [(1e6, 100.0, "spin"), (1.1e6, 100, "lock"), (1.1e6, 2e5, "spin")])
    func `a p99 wait disqualifies above 1 ms and ten times the current one's`(
        p99: Double,
        lock: Double,
        expected: String
    ) {
        let report = pair { $0.wait = .sample(p50: p99 / 20) }
            .with(.lock) { $0.wait = .sample(p50: lock / 20) }
        #expect(found(report).strategies.first == expected)
        var asynchronous = report
        asynchronous.rename(.spin, to: "actor")
        let actor = found(asynchronous).strategies.first
        #expect(actor == (expected == "spin" ? "actor" : "lock"), "asynchronous ones, too")
    }

    @Test(arguments: [(0.9, "spin"), (1.5, "spin"), (1.7, "lock")])
    func `processor time disqualifies above 1 µs and four times the current one's`(
        seconds: Double,
        expected: String
    ) {
        let report = pair { $0.cpuSecondsPerMillionOperations = seconds }
        #expect(found(report).strategies.first == expected)
    }

    @Test(arguments: [(4e5, "lock"), (6e5, "spin")])
    func `the worse of two modes has to be half as fast as the current one`(
        slow: Double,
        expected: String
    ) {
        // Three cases without modes, so that the mean is better for sure.
        let report = ComparisonReport.plain([
            .lock: [1: steady(1e6), 2: steady(1e6), 4: steady(1e6), 8: steady(1e6)],
            .spin: [
                1: steady(9e6), 2: steady(9e6), 4: steady(9e6), 8: [slow, 9e6, slow, 9.1e6, 9e6],
            ],
        ])
        #expect(found(report).strategies.first == expected)
    }

    // MARK: Noise

    @Test func `identical reports rank nothing`() {
        let same = [2: [1e6, 1.3e6, 0.9e6, 1.1e6, 1e6], 8: [1e6, 2e6, 1e6, 2e6, 2e6]]
        let found = found(
            ComparisonReport.plain([
                .spin: same, .lock: same, .snapshot: same, .mutex: same, .actor: same,
            ])
        )
        #expect(found.sentence == "No difference found: keep `lock`.")
        #expect(found.strategies.count == 4, "`snapshot` copies, which is not as good here")
        #expect(found.news.isEmpty && found.passedOver.isEmpty)
        #expect(!found.flip.hasPrefix("Except"))
        #expect(!found.notes.contains { $0.hasPrefix("Next best") || $0.hasPrefix("Perhaps") })
    }

    @Test func `noise makes the verdict weaker, and a collapse is told all the same`() {
        var report = ComparisonReport.plain([
            .lock: [4: steady(1e6), 8: steady(1e6)],
            .adaptive: [4: steady(1.3e6), 8: steady(1.3e6)],
            .mutex: [4: steady(1e6), 8: steady(1e6 / 177)],
        ])
        #expect(
            found(report).sentence == "Use `adaptive`: 30 % more than `lock` on 4 to 8 threads."
        )
        report.conditions.leastRatio = 1.4
        #expect(found(report).sentence == "Too noisy to tell: keep `lock`.")
        #expect(found(report).notes.contains { $0.hasPrefix("Perhaps better: `adaptive`: 30 %") })
        #expect(found(report).news.first?.contains("collapses above 4 threads: 177 times") == true)
    }

    @Test(arguments: [
        (1.0, 1.09, "No difference of 10 % found"), (1.2, 1.15, "Too noisy to tell"),
        (1.2, 1.05, "No difference of 20 % found"), (1.2, 0.85, "No difference of 20 % found"),
        (3, 2.5, "Too noisy to tell"),
    ])
    func `on a busy machine what reaches 10 % is too noisy to tell`(
        leastRatio: Double,
        factor: Double,
        finding: String
    ) {
        var report = ComparisonReport.plain([
            .lock: [4: steady(1e6)], .adaptive: [4: steady(factor * 1e6)],
        ])
        report.conditions.leastRatio = leastRatio
        #expect(found(report).sentence == "\(finding): keep `lock`.")
    }
}
