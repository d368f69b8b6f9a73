public import LatchkeySync

// The law of each access function alone: it works on a value that no other one has been called on.
//
// **Design.** As in the other laws, threads tell the law what they saw through counts. Each value
// has arrivals of its own, at which the threads meet before they call the function.

extension StrategyLaws {
    /// Each access function works alone, as the first one that is called on a value and the only
    /// one: called by one thread, and by several at once.
    ///
    /// The law tries the functions of ``Synchronized`` that the strategy has, and the submitting
    /// ones of ``Striped`` for several values.
    ///
    ///     each thread
    ///     -----------
    ///     waits for the others
    ///     calls the function     adds one, and sees what the one before has left
    ///
    /// - Parameters:
    ///   - make: Makes a strategy for one value.
    ///   - threads: How many threads call a function at once.
    ///   - rounds: On how many values.
    /// - Returns: A sentence for each way in which the law was broken.
    public static func functionsWorkAlone<ChosenStrategy: Strategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy,
        threads: Int = 4,
        rounds: Int = 30
    ) -> [Violation] {
        StrategyLaws(submitting: make).violations { note in
            for function in functions(make) {
                guard let call = function.fresh() else {
                    continue
                }
                let seen = Collected<[Int?]>([])
                let caller = TestThread {
                    for _ in 0..<2 {
                        let value = call()
                        seen.with { $0.append(value) }
                    }
                }
                note(caller.join(), "\(function.name) alone hangs")
                let found = seen.with { $0 }
                let expected = function.adds ? [0, 1] : [0, 0]
                note(found == expected, "\(function.name) alone saw \(found), not \(expected)")
                note(
                    function.meets(threads: threads, rounds: rounds),
                    "\(function.name) alone is wrong where threads meet"
                )
            }
        }
    }
}

/// An access function of a strategy.
private struct AccessFunction: Sendable {
    /// Adds one to its value, or only reads it, and returns what it saw; nil if it was refused.
    typealias Call = @Sendable () -> Int?

    let name: String
    let adds: Bool
    /// Whether it is refused where others are inside.
    var tries = false
    /// The function on a value of its own; nil if the strategy does not have it.
    let fresh: @Sendable () -> Call?

    /// Whether several threads that call it at once, on a fresh value each time, see each number
    /// once, and readers see 0.
    func meets(threads: Int, rounds: Int) -> Bool {
        let calls = (0..<rounds).compactMap { _ in fresh() }
        let arrived = calls.map { _ in Arrivals() }
        let seen = Collected([[Int?]](repeating: [], count: calls.count))
        let ended = TestThread.run(threads) { _ in
            for (round, call) in calls.enumerated() {
                arrived[round].arrive()
                arrived[round].wait(for: threads)
                let value = call()
                seen.with { $0[round].append(value) }
            }
        }
        return ended
            && zip(calls, seen.with { $0 }).allSatisfy { call, values in
                let entered = values.compactMap(\.self).sorted()
                let count = tries ? entered.count : threads
                let expected = adds ? Array(0..<count) : [Int](repeating: 0, count: count)
                // No thread is inside any more, so that a try is let in.
                return entered == expected && call() == (adds ? count : 0)
            }
    }
}

/// A body that writes; others get the processor while it is inside.
@Sendable
private func add(_ value: inout Int) -> Int {
    let seen = value
    Yield.now()
    value = seen + 1
    return seen
}

/// A body that reads.
@Sendable
private func look(_ value: Int) -> Int {
    Yield.now()
    return value
}

/// Waits for the completion of the access that `submit` submits.
private func completed(
    _ submit: (_ completion: @escaping @Sendable (Int) -> Void) throws -> Void
) -> Int? {
    let (seen, end) = (Collected<Int?>(nil), Gate())
    do {
        try submit { value in
            seen.with { $0 = value }
            end.open()
        }
    } catch {
        return nil
    }
    end.pass()
    return seen.with { $0 }
}

/// Waits for a task, which runs on the calling thread until it is suspended, where that exists.
private func awaited(_ access: @escaping @Sendable () async throws -> Int) -> Int? {
    completed { completion in
        let body: @Sendable () async -> Void = {
            if let value = try? await access() {
                completion(value)
            }
        }
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate(operation: body)
        } else {
            Task(operation: body)
        }
    }
}

/// Makes access functions of one strategy.
private struct Functions<ChosenStrategy: Strategy>: Sendable {
    let make: @Sendable () -> ChosenStrategy?

    /// The functions of the type of a given strategy.
    init(like _: ChosenStrategy, _ make: @escaping @Sendable () -> any Strategy) {
        self.make = { make() as? ChosenStrategy }
    }

    /// A function of one value.
    func one(
        _ name: String,
        adds: Bool,
        tries: Bool = false,
        _ call: @escaping @Sendable (Synchronized<Int, ChosenStrategy>) -> Int?
    ) -> AccessFunction {
        AccessFunction(name: name, adds: adds, tries: tries) {
            make().map { strategy in
                let value = Synchronized<Int, ChosenStrategy>(0, strategy: strategy)
                return { call(value) }
            }
        }
    }

    /// A function of two values.
    func several(
        _ name: String,
        adds: Bool,
        _ call: @escaping @Sendable (Striped<Int, ChosenStrategy>) -> Int?
    ) -> AccessFunction {
        AccessFunction(name: name, adds: adds) {
            var strategies = [make(), make()].compactMap(\.self)
            guard strategies.count == 2 else { return nil }
            let values = Striped(count: 2, strategy: { strategies.removeLast() }, value: { _ in 0 })
            return { call(values) }
        }
    }
}

extension StrategyLaws {
    /// The functions that the strategy has.
    private static func functions(
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        let strategy = make()
        let lock = lock(of: type(of: strategy))
        return submitting(strategy, make)
            + ((strategy as? any BlockingStrategy).map { blocking($0, make) } ?? [])
            + ((strategy as? any InPlaceStrategy).map { inPlace($0, make) } ?? [])
            + ((strategy as? any LockingStrategy).map { trying($0, make) } ?? [])
            + ((strategy as? any InPlaceStrategy & LockingStrategy).map { both($0, make) } ?? [])
            + ((lock as? any TimedLock.Type).map { ofTimedLock($0, make) } ?? [])
            + ((lock as? any ConditionLock.Type).map { ofConditionLock($0, make) } ?? [])
    }

    private static func submitting(
        _ strategy: some Strategy,
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        let functions = Functions(like: strategy, make)
        return [
            functions.one("submitRead", adds: false) { value in
                completed { try value.submitRead(look, completion: $0) }
            },
            functions.one("submitWrite", adds: true) { value in
                completed { try value.submitWrite(add, completion: $0) }
            },
            functions.one("asyncRead", adds: false) { value in
                awaited { try await value.asyncRead(look) }
            },
            functions.one("asyncWrite", adds: true) { value in
                awaited { try await value.asyncWrite(add) }
            },
            functions.several("submitReadAll", adds: false) { values in
                completed { values.submitReadAll({ look($0[1]) }, completion: $0) }
            },
            functions.several("submitWrite(several:)", adds: true) { values in
                completed {
                    try values.submitWrite(several: [0, 1], { add(&$0[1]) }, completion: $0)
                }
            },
        ]
    }

    private static func blocking(
        _ strategy: some BlockingStrategy,
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        let functions = Functions(like: strategy, make)
        return [
            functions.one("read", adds: false) { $0.read(look) },
            functions.one("write", adds: true) { $0.write(add) },
            functions.one("readHoldingWriters", adds: false) { $0.readHoldingWriters(look) },
            functions.several("readAll", adds: false) { $0.readAll { look($0[1]) } },
            functions.several("write(several:)", adds: true) {
                $0.write(several: [0, 1]) { add(&$0[1]) }
            },
        ]
    }

    private static func inPlace(
        _ strategy: some InPlaceStrategy,
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        [Functions(like: strategy, make).one("withLock", adds: true) { $0.withLock { add(&$0) } }]
    }

    private static func trying(
        _ strategy: some LockingStrategy,
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        let functions = Functions(like: strategy, make)
        return [
            functions.one("tryRead", adds: false, tries: true) { $0.tryRead(look) },
            functions.one("tryWrite", adds: true, tries: true) { $0.tryWrite(add) },
        ]
    }

    private static func both(
        _ strategy: some InPlaceStrategy & LockingStrategy,
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        let functions = Functions(like: strategy, make)
        return [
            functions.one("withLockIfAvailable", adds: true, tries: true) {
                $0.withLockIfAvailable { add(&$0) }
            }
        ]
    }

    private static func ofTimedLock<Lock: TimedLock>(
        _ lock: Lock.Type,
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        func functions<Timed: LockingStrategy>(
            _ strategy: Timed
        ) -> [AccessFunction] where Timed.Lock: TimedLock {
            let functions = Functions(like: strategy, make)
            return [
                functions.one("read(deadline:)", adds: false) {
                    $0.read(deadline: .now + .seconds(60), look)
                },
                functions.one("write(deadline:)", adds: true) {
                    $0.write(deadline: .now + .seconds(60), add)
                },
            ]
        }
        return (make() as? any LockingStrategy<Lock>).map { functions($0) } ?? []
    }

    private static func ofConditionLock<Lock: ConditionLock>(
        _ lock: Lock.Type,
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        func functions<Waiting: LockingStrategy>(
            _ strategy: Waiting
        ) -> [AccessFunction] where Waiting.Lock: ConditionLock {
            let functions = Functions(like: strategy, make)
            return [
                functions.one("read(when:)", adds: false) { $0.read(when: { $0 >= 0 }, look) },
                functions.one("write(when:)", adds: true) { $0.write(when: { $0 >= 0 }, add) },
            ]
        }
        return (make() as? any LockingStrategy<Lock>).map { functions($0) } ?? []
    }
}
