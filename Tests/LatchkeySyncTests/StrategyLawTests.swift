import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The laws, run for every strategy: a new one adds no test.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct StrategyLawTests {
    @Test(arguments: StrategyKind.allCases)
    func `no update is lost`(kind: StrategyKind) async {
        for laws in kind.laws {
            #expect(await TestThread.result { laws.noUpdateIsLost() } == [])
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `reads are whole`(kind: StrategyKind) async {
        for laws in kind.laws {
            #expect(await TestThread.result { laws.readsAreWhole() } == [])
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `a writer excludes everyone`(kind: StrategyKind) async {
        for laws in kind.laws {
            #expect(await TestThread.result { laws.writersExcludeEveryone() } == [])
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `readers overlap exactly where promised`(kind: StrategyKind) async {
        for laws in kind.laws {
            #expect(await TestThread.result { laws.readersOverlapAsPromised() } == [])
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `a reader keeps writers out`(kind: StrategyKind) async {
        for laws in kind.laws {
            #expect(await TestThread.result { laws.readersExcludeWriters() } == [])
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `a try is refused while somebody is inside`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(TriesAreRefused()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `a wait ends at its deadline`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(DeadlinesEndWaits()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `who waits for a condition is woken by the write that fulfils it`(
        kind: StrategyKind
    ) async {
        #expect(await TestThread.result { kind.accept(ConditionsAreWaitedFor()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `several values are held at once`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(SeveralValuesAreHeld()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `a write to several values is seen as a whole or not at all`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(SeveralWritesAreWhole()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `a value ends once, and not inside a reader`(kind: StrategyKind) async {
        for laws in kind.laws {
            #expect(await TestThread.result { laws.valuesEndOnce() } == [])
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `no wake-up is lost`(kind: StrategyKind) async {
        for laws in kind.laws {
            #expect(await TestThread.result { laws.noWakeUpIsLost() } == [])
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `values are freed`(kind: StrategyKind) async {
        for laws in kind.laws {
            #expect(await TestThread.result { laws.valuesAreFreed() } == [])
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `a read frees few of the values that writers replace, issue 17`(
        kind: StrategyKind
    ) async {
        #expect(await TestThread.result { kind.accept(ReadsFreeFewValues()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `a read takes no time that writers could make longer`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(ReadsTakeNoTime()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `each access function works alone`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(FunctionsWorkAlone()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `those who wait enter in their order where that is promised, issue 17`(
        kind: StrategyKind
    ) async {
        for laws in kind.laws {
            #expect(await TestThread.result { laws.waitersEnterInOrder() } == [])
        }
        #expect(await TestThread.result { kind.accept(TasksEnterInOrder()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `writes of one thread apply in order`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(WritesApplyInOrder()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `completions run outside the guarded section`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(CompletionsRunOutside()) } == [])
    }

    @Test(arguments: StrategyKind.allCases.filter(\.traits.blocksCaller))
    func `a pool's threads may wait for their own writes, issue 7`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(PoolThreadsSeeTheirWrites()) } == [])
    }

    @Test(arguments: StrategyKind.allCases)
    func `the observer hears of an access in order`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(ObserverHearsInOrder()) } == [])
    }

    /// Where no observer hears of waiting, a meter finds out by sampling.
    @Test(arguments: StrategyKind.allCases.filter(\.traits.tellsOfWaiting), AccessMode.allCases)
    func `the observer hears of waiting`(kind: StrategyKind, mode: AccessMode) async {
        if mode == .write || !kind.traits.readsDuringWrites {
            let violations = await TestThread.result {
                kind.accept(ObserverHearsOfWaiting(mode: mode))
            }
            #expect(violations == [])
        }
    }

    @Test(arguments: StrategyKind.allCases.filter(\.traits.blocksCaller))
    func `a throwing body releases`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(ThrowingBodiesRelease()) } == [])
    }
}

extension StrategyKind {
    /// The laws through each kind of access function that the strategy has.
    var laws: [StrategyLaws] { accept(LawsVisitor()) }
}

private struct LawsVisitor: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [StrategyLaws]
    {
        [
            StrategyLaws(submitting: { ChosenStrategy() }),
            StrategyLaws(awaiting: { ChosenStrategy() }),
        ]
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [StrategyLaws] {
        [
            StrategyLaws(submitting: { ChosenStrategy() }),
            StrategyLaws(awaiting: { ChosenStrategy() }),
            StrategyLaws(blocking: { ChosenStrategy() }),
        ]
    }
}

private struct ReadsFreeFewValues: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] { [] }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [String] {
        StrategyLaws.readsFreeFewValues { ChosenStrategy() }
    }
}

private struct ReadsTakeNoTime: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] { [] }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [String] {
        StrategyLaws.readsTakeNoTime { ChosenStrategy() }
    }
}

private struct FunctionsWorkAlone: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.functionsWorkAlone { ChosenStrategy() }
    }
}

private struct TasksEnterInOrder: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.tasksOfAnyPriorityEnterInOrder { ChosenStrategy() }
    }
}

private struct WritesApplyInOrder: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.writesApplyInOrder { ChosenStrategy() }
    }
}

private struct CompletionsRunOutside: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.completionsRunOutside { ChosenStrategy() }
    }
}

private struct TriesAreRefused: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.triesAreRefused { ChosenStrategy() }
    }
}

private struct DeadlinesEndWaits: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.deadlinesEndWaits { ChosenStrategy() }
    }
}

private struct ConditionsAreWaitedFor: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.conditionsAreWaitedFor { ChosenStrategy() }
    }
}

private struct SeveralWritesAreWhole: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.severalWritesAreWhole { ChosenStrategy() }
    }
}

private struct SeveralValuesAreHeld: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.severalValuesAreHeld { ChosenStrategy() }
    }
}

private struct PoolThreadsSeeTheirWrites: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        ["\(ChosenStrategy.name) has no blocking access functions"]
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [String] {
        StrategyLaws.poolThreadsSeeTheirWrites { ChosenStrategy() }
    }
}

private struct ObserverHearsInOrder: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.observerHearsInOrder { ChosenStrategy() }
    }
}

private struct ObserverHearsOfWaiting: StrategyVisitor {
    let mode: AccessMode

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.observerHearsOfWaiting(mode) { ChosenStrategy() }
    }
}

private struct ThrowingBodiesRelease: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        ["\(ChosenStrategy.name) has no blocking access functions"]
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [String] {
        StrategyLaws.throwingBodiesRelease { ChosenStrategy() }
    }
}
