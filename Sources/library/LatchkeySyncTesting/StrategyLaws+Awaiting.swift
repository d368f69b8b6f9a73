public import LatchkeySync

// The laws of the access functions for tasks.
//
// **Design.** A law runs on a thread of its own and starts immediate tasks: each runs on that
// thread until it is suspended, so they ask in the order in which they are started. They report to
// the law through ``Collected`` and ``Arrivals``.

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension StrategyLaws {
    /// Tasks that wait for room lose no update, whatever the limit.
    public static func waitingTasksLoseNoUpdate<ChosenStrategy: Strategy>(
        _ make: (_ backlogMax: Int) -> ChosenStrategy,
        bound: Int,
        tasks: Int = 2000
    ) -> [Violation] {
        let awaited = Awaited(make(bound))
        let ended = Arrivals()
        Task {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<tasks {
                    group.addTask {
                        await awaited.write(number)
                        await awaited.read(number)
                    }
                }
            }
            ended.arrive()
        }
        let haveEntered = ended.wait(for: 1) && awaited.reads.value == tasks
        return awaited.refusalsOtherThan(nil)
            + law(of: awaited.name) { note in
                let lost = tasks - awaited.log.count
                note(haveEntered && lost == 0, "\(lost) updates were lost")
            }
    }

    /// A task that was cancelled does not enter, and hears why.
    public static func cancelledTasksDoNotEnter<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy
    ) -> [Violation] {
        let awaited = Awaited(make())
        let ended = Arrivals()
        Task {
            await withTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask { await awaited.write(1) }
                group.addTask { await awaited.read(2) }
            }
            ended.arrive()
        }
        ended.wait(for: 1)
        return law(of: awaited.name) { note in
            let heard = awaited.refusals
            note(heard == [1: .cancelled, 2: .cancelled], "a cancelled task heard \(heard)")
            note(awaited.log == [] && awaited.reads.value == 0, "a cancelled task entered")
            note(awaited.backlogEmpties, "a cancelled task is still in the backlog")
        }
    }

    /// A task sees what it wrote when the write has returned.
    public static func tasksSeeTheirWrites<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        tasks: Int = 8,
        rounds: Int = 100
    ) -> [Violation] {
        let synchronized = Synchronized([Int: Int](), strategy: make())
        let (ended, missed) = (Arrivals(), Arrivals())
        for task in 0..<tasks {
            Task {
                for round in 1...rounds {
                    try? await synchronized.asyncWrite { $0[task] = round }
                    if (try? await synchronized.asyncRead { $0[task] }) != round {
                        missed.arrive()
                    }
                }
                ended.arrive()
            }
        }
        return ended.wait(for: tasks) && missed.value == 0
            ? [] : ["\(ChosenStrategy.name): a task did not see its write"]
    }
}

// The laws of a strategy with a backlog: a holder stays inside while tasks ask.

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension StrategyLaws {
    /// At the limit a task that does not want to wait is refused, for writing and for reading.
    public static func tasksAreRefused<ChosenStrategy: Strategy>(
        _ make: (_ backlogMax: Int) -> ChosenStrategy,
        bound: Int
    ) -> [Violation] {
        let awaited = Awaited(make(bound))
        let holder = Holder(submittingTo: awaited.synchronized)
        // The holder is one of the writers.
        for number in 1...bound {
            awaited.start { await $0.write(number, whenFull: .refuse) }
        }
        for number in bound + 1...2 * bound + 1 {
            awaited.start { await $0.read(number, whenFull: .refuse) }
        }
        let refusedInside = awaited.refusals
        holder.letGo()
        let ended = awaited.join()
        return law(of: awaited.name) { note in
            let isBounded = refusedInside == [bound: .backlogFull, 2 * bound + 1: .backlogFull]
            note(isBounded, "with bound \(bound) refused \(refusedInside)")
            let haveEntered = awaited.log == Array(1..<bound) && awaited.reads.value == bound
            note(ended && haveEntered, "an accepted task did not enter")
        }
    }

    /// Tasks that wait for room enter in the order in which they asked.
    public static func waitingTasksEnterInOrder<ChosenStrategy: Strategy>(
        _ make: (_ backlogMax: Int) -> ChosenStrategy,
        tasks: Int = 200
    ) -> [Violation] {
        let awaited = Awaited(make(1))
        let holder = Holder(submittingTo: awaited.synchronized)
        for number in 0..<tasks {
            awaited.start { await $0.write(number) }
        }
        let isBounded = awaited.synchronized.backlogCount == 1
        holder.letGo()
        let ended = awaited.join()
        return isBounded && ended && awaited.log == Array(0..<tasks)
            ? [] : ["\(awaited.name): tasks that waited entered as \(awaited.log)"]
    }

    /// Tasks of different priorities enter in the order in which they asked.
    ///
    /// Nothing is tried unless that is promised (``StrategyTraits/handsOffFairly``) and tasks wait
    /// without blocking a thread.
    public static func tasksOfAnyPriorityEnterInOrder<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        tasks: Int = 40
    ) -> [Violation] {
        let traits = ChosenStrategy.traits
        guard traits.handsOffFairly, traits.appliesWritesAsynchronously else {
            return []
        }
        return orderOfTasks(make, tasks: tasks)
    }

    /// The same whatever the strategy promises.
    package static func orderOfTasks<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        tasks: Int
    ) -> [Violation] {
        let awaited = Awaited(make())
        let holder = Holder(submittingTo: awaited.synchronized)
        let priorities: [TaskPriority] = [.low, .high, .medium]
        for number in 0..<tasks {
            awaited.start(priority: priorities[number % priorities.count]) {
                await $0.write(number)
            }
        }
        holder.letGo()
        let ended = awaited.join()
        return ended && awaited.log == Array(0..<tasks)
            ? [] : ["\(awaited.name): tasks of different priorities entered as \(awaited.log)"]
    }

    /// A task that waits for room is cancelled at once; the tasks after it keep their places.
    public static func waitingTasksAreCancelled<ChosenStrategy: Strategy>(
        _ make: (_ backlogMax: Int) -> ChosenStrategy,
        tasks: Int = 30
    ) -> [Violation] {
        let awaited = Awaited(make(1))
        let holder = Holder(submittingTo: awaited.synchronized)
        let started = (0..<tasks).map { number in
            awaited.start { await $0.write(number) }
        }
        let cancelled = (0..<tasks).filter { $0 % 3 == 0 }
        for number in cancelled {
            started[number].cancel()
        }
        let endedInside = eventually { awaited.refusals.count == cancelled.count }
        holder.letGo()
        let ended = awaited.join()
        return awaited.refusalsOtherThan(.cancelled)
            + law(of: awaited.name) { note in
                let areCancelled = endedInside && awaited.refusals.keys.sorted() == cancelled
                note(areCancelled, "a task that waited was not cancelled at once")
                let isOrdered = ended && awaited.log == (0..<tasks).filter { $0 % 3 != 0 }
                note(isOrdered, "tasks that waited entered as \(awaited.log)")
            }
    }

    /// A task that was accepted and is cancelled before it enters does not enter.
    ///
    /// It goes on while the holder is inside if it is cancelled `atOnce`.
    public static func acceptedTasksAreCancelled<ChosenStrategy: Strategy>(
        _ make: () -> ChosenStrategy,
        atOnce: Bool
    ) -> [Violation] {
        let awaited = Awaited(make())
        let holder = Holder(submittingTo: awaited.synchronized)
        let started = [
            awaited.start { await $0.write(0) },
            awaited.start { await $0.write(1) },
            awaited.start { await $0.read(2) },
        ]
        started[0].cancel()
        started[2].cancel()
        let endedInside = !atOnce || eventually { awaited.refusals.count == 2 }
        holder.letGo()
        let ended = awaited.join()
        return law(of: awaited.name) { note in
            note(endedInside, "a task that was cancelled waits")
            let hasEntered = awaited.log != [1] || awaited.reads.value != 0
            note(ended && !hasEntered, "a task entered after it was cancelled")
            let heard = awaited.refusals
            note(heard == [0: .cancelled, 2: .cancelled], "the tasks heard \(heard)")
            note(awaited.backlogEmpties, "a cancelled task is still in the backlog")
        }
    }

    /// A task that was accepted and is cancelled gives its room back at once, and only once.
    ///
    /// Nothing is tried unless an accepted task is cancelled at once.
    ///
    ///     holder                 others
    ///     ------                 ------
    ///     enters
    ///     inside ──────────────▶ tasks fill the backlog, and are cancelled
    ///                            as many are accepted again, twice
    ///     leaves ──────────────▶ enter; after that the limit is the same
    public static func cancelledTasksMakeRoom<ChosenStrategy: Strategy>(
        _ make: (_ backlogMax: Int) -> ChosenStrategy,
        bound: Int = 7
    ) -> [Violation] {
        let traits = ChosenStrategy.traits
        guard traits.blocksCaller, traits.appliesWritesAsynchronously else { return [] }
        let awaited = Awaited(make(bound))
        func submit() -> Bool {
            (try? awaited.synchronized.submitWrite({ _ in }, completion: {})) != nil
        }
        return law(of: awaited.name) { note in
            for round in 0..<2 {
                let holder = Holder(submittingTo: awaited.synchronized)
                for number in [0, bound] {
                    let numbers = (1..<bound).map { 3 * bound * round + number + $0 }
                    let started = numbers.map { number in
                        awaited.start { await $0.write(number, whenFull: .refuse) }
                    }
                    for task in started {
                        task.cancel()
                    }
                    let heard = eventually { numbers.allSatisfy { awaited.refusals[$0] != nil } }
                    let isFree = heard && awaited.synchronized.backlogCount == 1
                    note(isFree, "cancelled tasks are still in the backlog")
                }
                let others = awaited.refusalsOtherThan(.cancelled)
                note(others == [], "\(others)")
                let accepted = (1..<bound).count { _ in submit() }
                let isBounded = accepted == bound - 1 && !submit()
                note(isBounded, "\(accepted) were accepted after \(bound) gave up")
                holder.letGo()
                let isEmpty = awaited.join() && awaited.backlogEmpties
                note(isEmpty, "an access is still in the backlog")
            }
        }
    }
}

/// A value that tasks use, and the results of the tasks.
@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
private struct Awaited<ChosenStrategy: Strategy>: Sendable {
    let synchronized: Synchronized<LawState, ChosenStrategy>
    let reads = Arrivals()
    private let written = Collected<[Int]>([])
    private let refused = Collected<[Int: AccessRefused]>([:])
    private let started = Collected(0)
    private let ended = Arrivals()

    init(_ strategy: ChosenStrategy) {
        synchronized = Synchronized(LawState(), strategy: strategy)
    }

    var name: String { ChosenStrategy.name }

    /// The numbers of the writes that were made, in their order.
    var log: [Int] { written.with { $0 } }

    /// The refusals of tasks, by number.
    var refusals: [Int: AccessRefused] { refused.with { $0 } }

    func refusalsOtherThan(_ expected: AccessRefused?) -> [StrategyLaws.Violation] {
        refusals.filter { $0.value != expected }.map { "\(name): task \($0) heard \($1)" }
    }

    func write(_ number: Int, whenFull: WhenFull = .wait) async {
        do throws(AccessRefused) {
            try await synchronized.asyncWrite(whenFull: whenFull) { _ in
                written.with { $0.append(number) }
            }
        } catch {
            refused.with { $0[number] = error }
        }
    }

    func read(_ number: Int, whenFull: WhenFull = .wait) async {
        do throws(AccessRefused) {
            try await synchronized.asyncRead(whenFull: whenFull) { _ in reads.arrive() }
        } catch {
            refused.with { $0[number] = error }
        }
    }

    /// Starts a task, which runs on the calling thread until it is suspended.
    @discardableResult
    func start(
        priority: TaskPriority? = nil,
        _ body: @escaping @Sendable (Self) async -> Void
    ) -> Task<Void, Never> {
        started.with { $0 += 1 }
        return Task.immediate(priority: priority) {
            await body(self)
            ended.arrive()
        }
    }

    /// Waits for all tasks.
    func join() -> Bool {
        ended.wait(for: started.with { $0 })
    }

    /// Whether the backlog gets empty: a queue reaches cancelled blocks after the tasks have gone
    /// on.
    var backlogEmpties: Bool { eventually { synchronized.backlogCount == 0 } }
}
