public import LatchkeyStrategies
internal import LatchkeySyncTesting

/// Tries the laws of a strategy: whether it excludes and admits accesses as it promises.
///
/// They are those of `LatchkeySyncTesting` that decide whether figures are right. The figures show
/// whether readers overlap, and whether the longest waiter enters first.
///
/// **Design.** Each law starts threads of its own, on a value of its own, and joins them. It runs
/// beside the thread that controls the run, which waits for it with a time limit: a law of a
/// strategy that hangs is abandoned. None of it is timed.
@usableFromInline
package enum StrategyVerdicts {
    private static let laws: [@Sendable (StrategyLaws) -> [StrategyLaws.Violation]] = [
        { $0.noUpdateIsLost() }, { $0.readsAreWhole() }, { $0.writersExcludeEveryone() },
        { $0.readersExcludeWriters() }, { $0.noWakeUpIsLost() },
    ]

    /// The most threads that a law has at once, with the one that it runs on.
    package static let threadsMax = 10

    /// The time of a check, on average over the strategies.
    static let estimatedSeconds = 0.3

    /// Checks a strategy by its name.
    ///
    /// - Parameters:
    ///   - kind: The strategy.
    ///   - isInterrupted: Asked regularly during waits.
    /// - Returns: A verdict; nothing if it was interrupted.
    package static func check(
        _ kind: StrategyKind,
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) -> [ComparisonReport.Verdict] {
        let bound = BoundedWait(isInterrupted: isInterrupted)
        return check(kind.accept(LawsOfKind()), kind.rawValue, bound)
    }

    /// Checks a strategy through the access functions that programs would use: the blocking ones,
    /// unless it applies writes later.
    @usableFromInline
    static func check<ChosenStrategy: BlockingStrategy>(
        blocking make: @escaping @Sendable () -> ChosenStrategy,
        as name: String,
        bound: BoundedWait = BoundedWait()
    ) -> [ComparisonReport.Verdict] {
        check(laws(blocking: make), name, bound)
    }

    /// Checks a strategy through its submitting access functions.
    @usableFromInline
    static func check<ChosenStrategy: Strategy>(
        submitting make: @escaping @Sendable () -> ChosenStrategy,
        as name: String,
        bound: BoundedWait = BoundedWait()
    ) -> [ComparisonReport.Verdict] {
        check(StrategyLaws(submitting: make), name, bound)
    }

    fileprivate static func laws<ChosenStrategy: BlockingStrategy>(
        blocking make: @escaping @Sendable () -> ChosenStrategy
    ) -> StrategyLaws {
        ChosenStrategy.traits.appliesWritesAsynchronously
            ? StrategyLaws(submitting: make) : StrategyLaws(blocking: make)
    }

    private static func check(
        _ tried: StrategyLaws,
        _ name: String,
        _ bound: BoundedWait
    ) -> [ComparisonReport.Verdict] {
        var violations: [StrategyLaws.Violation] = []
        var verdict = ComparisonReport.Verdict(
            strategy: name,
            check: .laws,
            outcome: .failed,
            checkedCount: 0
        )
        do throws(MeasurementFailure) {
            for law in laws {
                violations += try bound.results(count: 1) { _, completion in
                    completion(law(tried))
                }[0]
            }
        } catch {
            guard case .stuck = error else { return [] }
            verdict.finding = "An operation did not return within \(Int(bound.seconds)) s."
            return [verdict]
        }
        verdict.checkedCount = laws.count
        verdict.outcome = violations.isEmpty ? .passed : .failed
        if !violations.isEmpty {
            // They begin with the name of the type.
            let broken = violations.map { $0.trimmingPrefix(tried.name + ": ") }.uniqued()
            verdict.finding = "It broke a law: " + broken.joined(separator: "; ") + "."
        }
        return [verdict]
    }
}

private struct LawsOfKind: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> StrategyLaws {
        StrategyLaws(submitting: { ChosenStrategy() })
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> StrategyLaws {
        StrategyVerdicts.laws(blocking: { ChosenStrategy() })
    }
}
