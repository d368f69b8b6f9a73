public import LatchkeySync

// The laws of several guards at once, and of the life of guarded values.

extension StrategyLaws {
    /// A write to several guards is seen as a whole or not at all, and each wait ends.
    ///
    /// Threads move amounts from guard to guard; others read all guards or write one. The sum of
    /// all guards is the same at every moment.
    ///
    /// - Parameter make: Makes a strategy for one value.
    /// - Returns: A sentence for each broken law.
    public static func severalWritesAreWhole<ChosenStrategy: Strategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) -> [Violation] {
        let values = Striped(count: 8, strategy: make) { _ in 100 }
        let (submitted, completed, torn) = (Arrivals(), Arrivals(), Arrivals())
        let ended = TestThread.run(4) { thread in
            for round in 0..<60 {
                let from = (thread * 3 + round) % 7
                submitted.arrive()
                switch round % 3 {
                case 0:
                    values.submitReadAll(
                        { if $0.reduce(0, +) != 800 { torn.arrive() } },
                        completion: { completed.arrive() }
                    )
                case 1:
                    try? values.submitWrite(from, { $0 += 0 }, completion: { completed.arrive() })
                default:
                    try? values.submitWrite(
                        several: [from, 7],
                        { values in
                            values[0] -= 1
                            Yield.now()
                            values[1] += 1
                        },
                        completion: { completed.arrive() }
                    )
                }
            }
        }
        return law(of: ChosenStrategy.name) { note in
            let areCompleted = ended && completed.wait(for: submitted.value)
            note(areCompleted, "\(completed.value) of \(submitted.value) completed")
            note(torn.value == 0, "\(torn.value) reads saw a part of a write")
            let seen = Collected<[Int]>([])
            let read = Gate()
            values.submitReadAll(
                { values in seen.with { $0 = values } },
                completion: { read.open() }
            )
            read.pass()
            let (sum, last) = seen.with { ($0.reduce(0, +), $0.last) }
            note(sum == 800 && last == 180, "the guards hold \(seen.with { $0 })")
        }
    }

    /// A value is destroyed exactly once, and never while a reader is inside with it.
    ///
    /// One thread replaces a value that counts its ends; others read it, give way while they are
    /// inside, and look whether it still lives.
    public func valuesEndOnce(rounds: Int = 300) -> [Violation] {
        violations { note in
            let (ends, endsAgain, dead) = (Arrivals(), Arrivals(), Arrivals())
            do {
                let subject = makeSubject()
                subject.write { $0.tracked = Tracked(ends, again: endsAgain) }
                let ended = TestThread.run(4) { thread in
                    for round in 0..<rounds {
                        if thread == 0 {
                            subject.write { $0.tracked = Tracked(ends, again: endsAgain) }
                        } else {
                            subject.read { state in
                                if round % 8 == 0 {
                                    Yield.now()
                                }
                                if state.tracked?.isAlive != true {
                                    dead.arrive()
                                }
                            }
                        }
                    }
                }
                note(ended, "a thread hangs")
                note(ends.value <= rounds, "the present value was freed")
            }
            note(ends.wait(for: rounds + 1), "\(rounds + 1 - ends.value) values leak")
            note(ends.value == rounds + 1, "more values ended than there were")
            note(endsAgain.value == 0, "\(endsAgain.value) values ended twice")
            note(dead.value == 0, "\(dead.value) readers were inside with a value that had ended")
        }
    }
}
