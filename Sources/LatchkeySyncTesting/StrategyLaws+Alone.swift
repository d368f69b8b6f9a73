public import LatchkeySync

// The law of each access function alone: it works on a value that no other one has been called on.
//
// **Design.** As in the other laws, threads tell the law what they saw through counts. Each value
// has arrivals of its own, at which the threads meet before they call the function.

extension StrategyLaws {
    /// Each access function works alone, as the first one that is called on a value and the only
    /// one: called by one thread, and by several at once.
    ///
    /// Tried are those of ``Synchronized`` that the strategy has, and the submitting ones of
    /// ``Striped`` for several values.
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
            for function in submitting(make) + blocking(make) {
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
    /// once, and who reads sees nothing.
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

/// What a body that writes does; others get the processor while it is inside.
@Sendable
private func add(_ value: inout Int) -> Int {
    let seen = value
    Yield.now()
    value = seen + 1
    return seen
}

/// What a body that reads does.
@Sendable
private func look(_ value: Int) -> Int {
    Yield.now()
    return value
}

/// Waits for the completion of what `submit` submits.
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

extension StrategyLaws {
    /// Those that every strategy has.
    private static func submitting<ChosenStrategy: Strategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) -> [AccessFunction] {
        func one(
            _ name: String,
            adds: Bool,
            _ call: @escaping @Sendable (Synchronized<Int, ChosenStrategy>) -> Int?
        ) -> AccessFunction {
            AccessFunction(name: name, adds: adds) {
                let value = Synchronized(0, strategy: make())
                return { call(value) }
            }
        }
        func several(
            _ name: String,
            adds: Bool,
            _ call: @escaping @Sendable (Striped<Int, ChosenStrategy>) -> Int?
        ) -> AccessFunction {
            AccessFunction(name: name, adds: adds) {
                let values = Striped(count: 2, strategy: make, value: { _ in 0 })
                return { call(values) }
            }
        }
        return [
            one("submitRead", adds: false) { value in
                completed { try value.submitRead(look, completion: $0) }
            },
            one("submitWrite", adds: true) { value in
                completed { try value.submitWrite(add, completion: $0) }
            },
            one("asyncRead", adds: false) { value in
                awaited { try await value.asyncRead(look) }
            },
            one("asyncWrite", adds: true) { value in
                awaited { try await value.asyncWrite(add) }
            },
            several("submitReadAll", adds: false) { values in
                completed { values.submitReadAll({ look($0[1]) }, completion: $0) }
            },
            several("submitWrite(several:)", adds: true) { values in
                completed {
                    try values.submitWrite(several: [0, 1], { add(&$0[1]) }, completion: $0)
                }
            },
        ]
    }

    /// Those that block, where the strategy has them.
    private static func blocking<ChosenStrategy: Strategy>(
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) -> [AccessFunction] {
        func function<Kind>(
            _ name: String,
            adds: Bool,
            tries: Bool = false,
            of kind: Kind.Type,
            _ call: @escaping @Sendable (Kind) -> AccessFunction.Call
        ) -> AccessFunction {
            AccessFunction(name: name, adds: adds, tries: tries) { (make() as? Kind).map(call) }
        }
        typealias Blocking = any BlockingStrategy
        typealias Trying = any LockingStrategy
        typealias InPlaceTrying = any InPlaceStrategy & LockingStrategy
        let functions = [
            function("read", adds: false, of: Blocking.self) { read($0) },
            function("write", adds: true, of: Blocking.self) { write($0) },
            function("readHoldingWriters", adds: false, of: Blocking.self) { hold($0) },
            function("readAll", adds: false, of: Blocking.self) { readAll($0) },
            function("write(several:)", adds: true, of: Blocking.self) { writeSeveral($0) },
            function("withLock", adds: true, of: (any InPlaceStrategy).self) { withLock($0) },
            function("withLockIfAvailable", adds: true, tries: true, of: InPlaceTrying.self) {
                withLockIfAvailable($0)
            },
            function("tryRead", adds: false, tries: true, of: Trying.self) { tryRead($0) },
            function("tryWrite", adds: true, tries: true, of: Trying.self) { tryWrite($0) },
        ]
        let lock = lock(of: ChosenStrategy.self)
        return functions + ((lock as? any TimedLock.Type).map { timed($0, make) } ?? [])
            + ((lock as? any ConditionLock.Type).map { conditional($0, make) } ?? [])
    }

    private static func timed<Lock: TimedLock>(
        _ lock: Lock.Type,
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        @Sendable func strategy() -> (any LockingStrategy<Lock>)? {
            make() as? any LockingStrategy<Lock>
        }
        return [
            AccessFunction(name: "read(deadline:)", adds: false) {
                strategy().map { readBefore($0) }
            },
            AccessFunction(name: "write(deadline:)", adds: true) {
                strategy().map { writeBefore($0) }
            },
        ]
    }

    private static func conditional<Lock: ConditionLock>(
        _ lock: Lock.Type,
        _ make: @escaping @Sendable () -> any Strategy
    ) -> [AccessFunction] {
        @Sendable func strategy() -> (any LockingStrategy<Lock>)? {
            make() as? any LockingStrategy<Lock>
        }
        return [
            AccessFunction(name: "read(when:)", adds: false) { strategy().map { readWhen($0) } },
            AccessFunction(name: "write(when:)", adds: true) { strategy().map { writeWhen($0) } },
        ]
    }
}

private func read(_ strategy: some BlockingStrategy) -> AccessFunction.Call {
    let value = Synchronized(0, strategy: strategy)
    return { value.read(look) }
}

private func write(_ strategy: some BlockingStrategy) -> AccessFunction.Call {
    let value = Synchronized(0, strategy: strategy)
    return { value.write(add) }
}

private func hold(_ strategy: some BlockingStrategy) -> AccessFunction.Call {
    let value = Synchronized(0, strategy: strategy)
    return { value.readHoldingWriters(look) }
}

private func readAll(_ strategy: some BlockingStrategy) -> AccessFunction.Call {
    let values = Striped(count: 1, strategy: { strategy }, value: { _ in 0 })
    return { values.readAll { look($0[0]) } }
}

private func writeSeveral(_ strategy: some BlockingStrategy) -> AccessFunction.Call {
    let values = Striped(count: 1, strategy: { strategy }, value: { _ in 0 })
    return { values.write(several: [0]) { add(&$0[0]) } }
}

private func withLock<ChosenStrategy: InPlaceStrategy>(
    _ strategy: ChosenStrategy
) -> AccessFunction.Call {
    let value = Synchronized<Int, ChosenStrategy>(0, strategy: strategy)
    return { value.withLock { add(&$0) } }
}

private func withLockIfAvailable<ChosenStrategy: InPlaceStrategy & LockingStrategy>(
    _ strategy: ChosenStrategy
) -> AccessFunction.Call {
    let value = Synchronized<Int, ChosenStrategy>(0, strategy: strategy)
    return { value.withLockIfAvailable { add(&$0) } }
}

private func tryRead(_ strategy: some LockingStrategy) -> AccessFunction.Call {
    let value = Synchronized(0, strategy: strategy)
    return { value.tryRead(look) }
}

private func tryWrite(_ strategy: some LockingStrategy) -> AccessFunction.Call {
    let value = Synchronized(0, strategy: strategy)
    return { value.tryWrite(add) }
}

private func readBefore<Timed: LockingStrategy>(
    _ strategy: Timed
) -> AccessFunction.Call where Timed.Lock: TimedLock {
    let value = Synchronized(0, strategy: strategy)
    return { value.read(deadline: .now + .seconds(60), look) }
}

private func writeBefore<Timed: LockingStrategy>(
    _ strategy: Timed
) -> AccessFunction.Call where Timed.Lock: TimedLock {
    let value = Synchronized(0, strategy: strategy)
    return { value.write(deadline: .now + .seconds(60), add) }
}

private func readWhen<Waiting: LockingStrategy>(
    _ strategy: Waiting
) -> AccessFunction.Call where Waiting.Lock: ConditionLock {
    let value = Synchronized(0, strategy: strategy)
    return { value.read(when: { $0 >= 0 }, look) }
}

private func writeWhen<Waiting: LockingStrategy>(
    _ strategy: Waiting
) -> AccessFunction.Call where Waiting.Lock: ConditionLock {
    let value = Synchronized(0, strategy: strategy)
    return { value.write(when: { $0 >= 0 }, add) }
}
