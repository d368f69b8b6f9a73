import Testing

@testable import LatchkeyVerdict

/// The rule: the current one stays, limits disqualify, and traits decide between equals.
struct VerdictTests {
    // MARK: The current one stays

    @Test(arguments: [(1.09, "lock"), (1.13, "adaptive")])
    func `the current strategy stays unless another is surely better by 10 %`(
        factor: Double,
        named: String
    ) {
        let table = VerdictTable.plain(["lock": [4: .steady(1)], "adaptive": [4: .steady(factor)]])
        #expect(table.verdict().strategy == named)
        #expect(table.verdict().current == "lock")
    }

    @Test func `each way to keep it has its sentence`() {
        func sentence(_ rates: [Double], atEight: Double = 1) -> String? {
            VerdictTable.plain([
                "lock": [4: .steady(1), 8: .steady(1)],
                "adaptive": [4: .repeats(rates), 8: .steady(atEight)],
            ]).text()?.sentence
        }
        #expect(
            sentence([0.5, 0.5, 0.5, 0.501, 0.5], atEight: 0.9)
                == "Keep `lock`: 49 % more than `adaptive` on average, the next best."
        )
        #expect(
            sentence([0.98, 0.98, 0.98, 0.981, 0.98])
                == "Keep `lock`: no other is better by 10 % on average."
        )
        #expect(
            sentence([1, 1.5, 0.9, 1.2, 1.1], atEight: 1.05)
                == "Keep `lock`: no other is surely better by 10 % on average."
        )
        #expect(
            sentence([1.2, 1.4, 1, 1.3, 1.3], atEight: 1.1)
                == "Keep `lock`: `adaptive` does 20 % more on average, but not surely 10 %."
        )
        #expect(
            sentence([0.4, 3, 0.9, 1.2, 1.1])
                == "Cannot tell `adaptive` from `lock`: keep `lock`."
        )
    }

    /// Sure as one, not sure, not better by 10 %, and surely not better.
    @Test(arguments: [
        ([1.3, 1.3, 1.3, 1.301, 1.3], false), ([1.2, 1.4, 1, 1.3, 1.3], true),
        ([1, 1.2, 0.9, 1.1, 1.05], false), ([0.9, 0.9, 0.9, 0.901, 0.9], false),
    ])
    func `a strategy that looks better by 10 % and is not surely so is undecided`(
        rates: [Double],
        isUndecided: Bool
    ) {
        let verdict = VerdictTable.plain([
            "lock": [4: .steady(1)], "adaptive": [4: .repeats(rates)],
        ]).verdict()
        #expect(verdict.undecided == (isUndecided ? ["adaptive"] : []))
    }

    @Test func `a case that no narrower interval can decide is not undecided`() {
        let copies = Preference(copiesOnWrite: true)
        let verdict = VerdictTable.plain(
            ["lock": [4: .steady(1)], "snapshot": [4: .repeats([1.2, 1.4, 1, 1.3, 1.3])]],
            preferences: ["snapshot": copies]
        ).verdict()
        #expect(verdict.undecided.isEmpty)
    }

    @Test func `worse in one case, it does not replace the current one`() {
        func text(_ atEight: Double) -> VerdictText? {
            VerdictTable.plain([
                "lock": [2: .steady(1), 8: .steady(1)],
                "adaptive": [2: .steady(2), 8: .steady(atEight)],
            ]).text()
        }
        #expect(text(0.905)?.sentence.hasPrefix("Use `adaptive`") == true)
        let slower = text(0.85)
        #expect(
            slower?.sentence
                == "Keep `lock`: `adaptive` is faster on average, but not in every case."
        )
        #expect(slower?.flip == "Except: `adaptive` on 2 threads: 2 times as many.")
        #expect(
            slower?.passedOver == [
                "`adaptive` is passed over, with 30 % more than `lock` on average over all cases "
                    + "(95 % interval: 30 %): `lock` is better on 8 threads (18 % more)."
            ]
        )
    }

    @Test func `a collapse outweighs a loss`() {
        let text = VerdictTable.plain([
            "mutex": [4: .steady(7.6e6), 8: .steady(35e3)],
            "lock": [4: .steady(5.4e6), 8: .steady(6e6)],
        ]).text("mutex")
        #expect(text?.sentence == "Use `lock`: 171 times as many as `mutex` on 8 threads.")
        #expect(text?.flip == "Except: `mutex` on 4 threads: 41 % more.")
        #expect(text?.news == ["Not here: `mutex` collapses above 4 threads: 217 times slower."])
    }

    @Test func `a mean is called a mean, with the case that has far less of it`() {
        func sentence(_ factors: [Double], figure: RankedFigure = .throughput) -> String? {
            let threads = [1, 2, 4, 8]
            func row(_ rates: [Double]) -> [Int: VerdictTable.Figures] {
                Dictionary(uniqueKeysWithValues: zip(threads, rates.map { .steady($0) }))
            }
            return VerdictTable.plain(
                ["lock": row([1, 1, 1, 1]), "adaptive": row(factors)],
                figure: figure
            ).text()?.sentence
        }
        #expect(
            sentence([1, 1.6, 1.5, 1.18])
                == "Use `adaptive`: 41 % more than `lock` on average over 2 to 8 threads; 18 % on "
                + "8."
        )
        #expect(
            sentence([1.5, 1.5, 1.5, 1.5])
                == "Use `adaptive`: 50 % more than `lock` on average over 1 to 8 threads."
        )
        #expect(
            sentence([2, 2, 2, 2], figure: .responseP99)
                == "Use `adaptive`: 50 % shorter p99 response than `lock` on average over 1 to 8 "
                + "threads."
        )
    }

    @Test func `if it was not measured, the most preferred one stands in, and it is said`() {
        let table = VerdictTable.plain(
            ["spin": [4: .steady(1.5)], "semaphore": [4: .steady(1)]],
            preferences: [
                "spin": Preference(spins: true), "semaphore": Preference(comesWithPlatform: true),
            ]
        )
        #expect(
            table.text()?.sentence
                == "Use `spin`: 50 % more than `semaphore` on 4 threads (`lock` was not measured)."
        )
        #expect(
            table.text()?.notes.contains("`lock` is not ranked: `semaphore` stands in for it.")
                == true
        )
    }

    @Test func `a current strategy that failed a check does not stay`() {
        let text = VerdictTable.plain(
            ["lock": [4: .steady(2)], "semaphore": [4: .steady(1)], "spin": [4: .steady(1)]],
            exclusions: ["lock": "failed the check 'counts'"]
        ).text(failures: [("lock", "fails the check 'counts'")])
        #expect(text?.sentence == "Use `semaphore`: `lock` failed the check 'counts'.")
        #expect(text?.news == ["Not here: `lock` fails the check 'counts'."])
    }

    // MARK: Preference and limits

    @Test func `of those that are equally good, traits decide and not noise`() {
        func named(_ spin: Double, _ adaptive: Double, _ semaphore: Double) -> String? {
            VerdictTable.plain(
                [
                    "lock": [8: .steady(1)], "spin": [8: .steady(spin)],
                    "adaptive": [8: .steady(adaptive)], "semaphore": [8: .steady(semaphore)],
                ],
                preferences: [
                    "spin": Preference(spins: true, keepsPolling: true),
                    "adaptive": Preference(spins: true),
                    "semaphore": Preference(comesWithPlatform: true),
                ]
            ).verdict().strategy
        }
        #expect(named(1.50, 1.45, 1.40) == "semaphore", "what the platform ships")
        #expect(named(1.50, 1.45, 1) == "adaptive", "what blocks in the end")
        #expect(named(1.50, 1.3, 1.2) == "spin", "what is better for sure")
    }

    @Test func `the order of preference is that of the list of traits`() {
        let order = [
            Preference(comesWithPlatform: true, promises: 1, order: 9),
            Preference(comesWithPlatform: true, appliesLater: true),
            Preference(order: 1), Preference(order: 2), Preference(promises: 1),
            Preference(copiesOnWrite: true), Preference(spins: true),
            Preference(spins: true, keepsPolling: true),
        ]
        #expect(order.reversed().sorted() == order)
    }

    @Test(arguments: [(0.5, "lock"), (0.89, "lock"), (0.9, "snapshot"), (0.99, "snapshot")])
    func `a strategy that copies is named where reads dominate, with a note on writers`(
        readRatio: Double,
        named: String
    ) {
        let text = VerdictTable.plain(
            ["lock": [8: .steady(1)], "snapshot": [8: .steady(3)]],
            readRatio: readRatio,
            preferences: ["snapshot": Preference(copiesOnWrite: true)]
        ).text()
        #expect(
            text?.sentence
                == (named == "lock"
                    ? "Keep `lock`: `snapshot` is faster, but its writers copy."
                    : "Use `snapshot`, whose writers copy the value: 3.00 times as many as `lock` "
                        + "on 8 threads.")
        )
    }

    @Test(arguments: [
        (Limits(leastShare: 0.34), Limits(), "spin"), (Limits(leastShare: 0.33), Limits(), "lock"),
        (Limits(leastShare: 0.1), Limits(leastShare: 0.2), "spin"),
        (Limits(waitP99Nanoseconds: 1e6), Limits(waitP99Nanoseconds: 100), "spin"),
        (Limits(waitP99Nanoseconds: 1.1e6), Limits(waitP99Nanoseconds: 100), "lock"),
        (Limits(waitP99Nanoseconds: 1.1e6), Limits(waitP99Nanoseconds: 2e5), "spin"),
        (Limits(processorNanoseconds: 900), Limits(processorNanoseconds: 100), "spin"),
        (Limits(processorNanoseconds: 1_700), Limits(processorNanoseconds: 500), "spin"),
        (Limits(processorNanoseconds: 1_700), Limits(processorNanoseconds: 400), "lock"),
    ])
    func `a limit counts where the current strategy keeps it`(
        own: Limits,
        current: Limits,
        named: String
    ) {
        let table = VerdictTable.plain([
            "lock": [8: .steady(1, limits: current)], "spin": [8: .steady(2, limits: own)],
        ])
        #expect(table.verdict().strategy == named)
        let told = table.text()?.news.joined() ?? ""
        #expect(told.hasPrefix("Not here: `spin` ") == (named == "lock"), "\(told)")
    }
}
