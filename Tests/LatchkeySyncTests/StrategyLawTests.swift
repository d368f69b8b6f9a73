import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The laws, run for every strategy: a new one adds no test.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct StrategyLawTests {
    @Test(arguments: Law.allCases.filter { !$0.isAboutBacklog }, StrategyKind.allCases)
    func `each strategy keeps each law`(law: Law, kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(Violations(law: law)) } == [])
    }

    @Test(
        arguments: Law.allCases.filter(\.isAboutBacklog),
        StrategyKind.allCases.filter(\.traits.appliesWritesAsynchronously)
    )
    func `each strategy with a backlog keeps the laws of it`(law: Law, kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(Violations(law: law)) } == [])
    }

    /// If an observer is not told of waits, a meter finds them by sampling.
    @Test(arguments: StrategyKind.allCases.filter(\.traits.tellsOfWaiting), AccessMode.allCases)
    func `the observer hears of waiting`(kind: StrategyKind, mode: AccessMode) async {
        if mode == .write || !kind.traits.readsDuringWrites {
            let violations = await TestThread.result {
                kind.accept(ObserverHearsOfWaiting(mode: mode))
            }
            #expect(violations == [])
        }
    }
}

enum Law: String, CaseIterable, CustomTestStringConvertible {
    // Through each kind of access function that the strategy has.
    case noUpdateIsLost = "no update is lost"
    case readsAreWhole = "reads are whole"
    case writersExcludeEveryone = "a writer excludes everyone"
    case readersOverlapAsPromised = "readers overlap exactly where promised"
    case readersExcludeWriters = "a reader keeps writers out"
    case valuesEndOnce = "a value ends once, and not inside a reader"
    case noWakeUpIsLost = "no wake-up is lost"
    case valuesAreFreed = "values are freed"
    case waitersEnterInOrder = "those who wait enter in their order, where that is promised"
    // Of the strategy as a whole.
    case tasksEnterInOrder = "tasks that wait enter in their order, where that is promised"
    case triesAreRefused = "a try is refused while somebody is inside"
    case deadlinesEndWaits = "a wait ends at its deadline"
    case conditionsAreWaitedFor = "who waits for a condition is woken by the write that fulfils it"
    case tasksWaitForConditions = "a task that waits for a condition holds no thread, issue 46"
    case severalValuesAreHeld = "several values are held at once"
    case severalWritesAreWhole = "a write to several values is seen as a whole or not at all"
    case functionsWorkAlone = "each access function works alone"
    case writesApplyInOrder = "writes of one thread apply in order"
    case completionsRunOutside = "completions run outside the guarded section"
    case endingsMayEnter = "what ends with an access may enter, issue 46"
    case observerHearsInOrder = "the observer hears of an access in order"
    // Of tasks.
    case waitingTasksLoseNoUpdate = "tasks that wait for room lose no update, issue 10"
    case cancelledTasksDoNotEnter = "a cancelled task does not enter"
    case tasksSeeTheirWrites = "a task sees its writes"
    // Of those that block.
    case readsFreeFewValues = "a read frees few of the values that writers replace, issue 17"
    case readsTakeNoTime = "a read takes no time that writers could make longer"
    case poolThreadsSeeTheirWrites = "a pool's threads may wait for their own writes, issue 7"
    case throwingBodiesRelease = "a throwing body releases"
    // Of those with a backlog.
    case backlogIsBounded = "as many writes are accepted as the bound says"
    case tasksAreRefused = "a task that does not want to wait is refused at the bound"
    case waitingTasksEnterInOrder = "tasks that wait for room enter in the order of their asking"
    case waitingTasksAreCancelled = "a task that waits for room is cancelled at once"
    case acceptedTasksAreCancelled = "a task that was accepted and is cancelled does not enter"
    case cancelledTasksMakeRoom = "a cancelled task gives its room back at once, issue 46"

    var isAboutBacklog: Bool {
        switch self {
        case .backlogIsBounded, .tasksAreRefused, .waitingTasksEnterInOrder,
            .waitingTasksAreCancelled, .acceptedTasksAreCancelled, .cancelledTasksMakeRoom:
            true
        default: false
        }
    }

    var testDescription: String { rawValue }
}

/// The violations of a law by a strategy.
private struct Violations: StrategyVisitor {
    let law: Law

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        violations(strategy, [])
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [String] {
        switch law {
        case .readsFreeFewValues: StrategyLaws.readsFreeFewValues { ChosenStrategy() }
        case .readsTakeNoTime: StrategyLaws.readsTakeNoTime { ChosenStrategy() }
        case .poolThreadsSeeTheirWrites:
            StrategyLaws.poolThreadsSeeTheirWrites { ChosenStrategy() }
        case .throwingBodiesRelease: StrategyLaws.throwingBodiesRelease { ChosenStrategy() }
        default: violations(strategy, [StrategyLaws(blocking: { ChosenStrategy() })])
        }
    }

    private func violations<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type,
        _ more: [StrategyLaws]
    ) -> [String] {
        let make: @Sendable () -> ChosenStrategy = { ChosenStrategy() }
        let all = [StrategyLaws(submitting: make), StrategyLaws(awaiting: make)] + more
        return switch law {
        case .noUpdateIsLost: all.flatMap { $0.noUpdateIsLost() }
        case .readsAreWhole: all.flatMap { $0.readsAreWhole() }
        case .writersExcludeEveryone: all.flatMap { $0.writersExcludeEveryone() }
        case .readersOverlapAsPromised: all.flatMap { $0.readersOverlapAsPromised() }
        case .readersExcludeWriters: all.flatMap { $0.readersExcludeWriters() }
        case .valuesEndOnce: all.flatMap { $0.valuesEndOnce() }
        case .noWakeUpIsLost: all.flatMap { $0.noWakeUpIsLost() }
        case .valuesAreFreed: all.flatMap { $0.valuesAreFreed() }
        case .waitersEnterInOrder: all.flatMap { $0.waitersEnterInOrder() }
        case .tasksEnterInOrder: StrategyLaws.tasksOfAnyPriorityEnterInOrder(make)
        case .triesAreRefused: StrategyLaws.triesAreRefused(make)
        case .deadlinesEndWaits: StrategyLaws.deadlinesEndWaits(make)
        case .conditionsAreWaitedFor: StrategyLaws.conditionsAreWaitedFor(make)
        case .tasksWaitForConditions: StrategyLaws.tasksWaitForConditions(make)
        case .severalValuesAreHeld: StrategyLaws.severalValuesAreHeld(make)
        case .severalWritesAreWhole: StrategyLaws.severalWritesAreWhole(make)
        case .functionsWorkAlone: StrategyLaws.functionsWorkAlone(make)
        case .writesApplyInOrder: StrategyLaws.writesApplyInOrder(make)
        case .completionsRunOutside: StrategyLaws.completionsRunOutside(make)
        case .endingsMayEnter:
            StrategyLaws.endingsMayEnter(make) + StrategyLaws.resultsMayEnter(make)
        case .observerHearsInOrder: StrategyLaws.observerHearsInOrder(make)
        case .waitingTasksLoseNoUpdate:
            [1, 4, 5000].flatMap {
                StrategyLaws.waitingTasksLoseNoUpdate({ ChosenStrategy(backlogMax: $0) }, bound: $0)
            }
        case .cancelledTasksDoNotEnter: StrategyLaws.cancelledTasksDoNotEnter(make)
        case .tasksSeeTheirWrites: StrategyLaws.tasksSeeTheirWrites(make)
        case .backlogIsBounded:
            [1, 2, 7].flatMap {
                StrategyLaws.backlogIsBounded({ ChosenStrategy(backlogMax: $0) }, bound: $0)
            }
        case .tasksAreRefused:
            [1, 2, 7].flatMap {
                StrategyLaws.tasksAreRefused({ ChosenStrategy(backlogMax: $0) }, bound: $0)
            }
        case .waitingTasksEnterInOrder:
            StrategyLaws.waitingTasksEnterInOrder { ChosenStrategy(backlogMax: $0) }
        case .waitingTasksAreCancelled:
            StrategyLaws.waitingTasksAreCancelled { ChosenStrategy(backlogMax: $0) }
        case .acceptedTasksAreCancelled:
            StrategyLaws.acceptedTasksAreCancelled(make, atOnce: strategy.traits.blocksCaller)
        case .cancelledTasksMakeRoom:
            StrategyLaws.cancelledTasksMakeRoom { ChosenStrategy(backlogMax: $0) }
        // A strategy that cannot block has no function that these are about.
        case .readsFreeFewValues, .readsTakeNoTime, .poolThreadsSeeTheirWrites,
            .throwingBodiesRelease:
            []
        }
    }
}

private struct ObserverHearsOfWaiting: StrategyVisitor {
    let mode: AccessMode

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        StrategyLaws.observerHearsOfWaiting(mode) { ChosenStrategy() }
    }
}
