import LatchkeyComparison
import LatchkeyStrategies

// Whether a lab's figures are those of the loop that its user would write instead: the same body,
// under the same strategy, on one thread. The body is one addition, which is the hardest case,
// because nothing hides the cost of the lab.

private let milliseconds: UInt32 = 100

private let counter = Workload("counter", value: 0) { value, operation in
    operation.keep(value)
} write: { value, _ in
    value &+= 1
}

/// The time of an operation in a lab, and in a loop of its own.
func agreementOfLab() -> [Comparison] {
    [StrategyKind.lock, .adaptive, .pthreadMutex, .spin].map { kind in
        Comparison(
            measure: "`\(kind.rawValue)` by a lab ÷ independent loop, 1 thread, an addition",
            figure: .costRatioWithin(0.95...1.05),
            subject: Contender(name: "\(kind.rawValue) by a lab") {
                scattered { byLab(kind) }
            },
            reference: Contender(name: "\(kind.rawValue) in a loop of its own") {
                scattered { kind.accept(IndependentLoop()) }
            }
        )
    }
}

/// Nanoseconds for an operation, as a lab measures them.
private func byLab(_ kind: StrategyKind) -> Double {
    var settings = ComparisonSettings()
    settings.strategies = [.init(kind)]
    settings.threads = [1]
    settings.readRatios = [0]
    settings.haveNoWork()
    settings.durationSeconds = Double(milliseconds) / 1000
    settings.repeats = 1
    let catalogue = Catalogue(OwnWorkload(counter))
    let run = try? ComparisonRun(settings, version: "benchmark", catalogue: catalogue).run()
    return run?.report.cases.first?.summary.nanosecondsPerOperation ?? .nan
}

/// The loop that a user would write.
private struct IndependentLoop: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Double { .nan }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Double {
        let guarded = Synchronized<Int, ChosenStrategy>(0)
        return contended(1, milliseconds) { guarded.write { $0 &+= 1 } }
    }
}
