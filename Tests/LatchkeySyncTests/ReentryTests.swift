import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// One contract for all strategies: what is supported works, the rest stops with a sentence.
///
/// The sentences are those of a checked build, as a test build is. The promises of unchecked builds
/// are tested on the strategies themselves.
@Suite(.timeLimit(.minutes(15)))
struct ReentryTests {
    static let blocking = StrategyKind.allCases.filter(\.traits.blocksCaller)

    @Test(arguments: blocking.filter(\.traits.isReentrant))
    func `reading inside a read works where promised`(kind: StrategyKind) {
        #expect(kind.accept(Nested("read", inside: "read")))
        #expect(kind.accept(Nested("read", inside: "readHoldingWriters")))
        #expect(kind.accept(Nested("readHoldingWriters", inside: "read")))
    }

    @Test(arguments: blocking.filter { !$0.traits.isReentrant })
    func `reading inside a read stops elsewhere`(kind: StrategyKind) async {
        await expectStop(kind, ["read", "read"])
    }

    @Test(
        arguments: blocking,
        [
            ["write", "read"], ["read", "write"], ["write", "write"],
            ["readHoldingWriters", "readHoldingWriters"],
        ]
    )
    func `an access inside one that it excludes stops`(kind: StrategyKind, pair: [String]) async {
        await expectStop(kind, pair)
    }

    /// Every strategy that can be tried, and a pair of functions of which none is a plain access.
    @Test(
        arguments: StrategyKind.allCases.filter { $0.accept(CanBeTried()) },
        [
            ["tryWrite", "write"], ["write", "tryWrite"], ["tryWrite", "readHoldingWriters"],
            ["readHoldingWriters", "tryWrite"],
        ]
    )
    func `a try and another access stop when nested`(kind: StrategyKind, pair: [String]) async {
        await expectStop(kind, pair)
    }

    private func expectStop(_ kind: StrategyKind, _ pair: [String]) async {
        let exit = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = kind.rawValue as String, pair] in
            _ = StrategyKind(rawValue: name)?.accept(Nested(pair[0], inside: pair[1]))
        }
        #expect(ReentrySentence(exit).names(pair[0], inside: pair[1], at: #fileID, kind))
    }

    @Test(arguments: blocking)
    func `another value may be entered inside`(kind: StrategyKind) {
        #expect(kind.accept(NestedInAnother()))
    }

    /// An asynchronous write runs after the section that submits it.
    @Test(arguments: StrategyKind.allCases.filter(\.traits.appliesWritesAsynchronously))
    func `submitting a write from inside works where writes are asynchronous`(
        kind: StrategyKind
    ) async {
        #expect(await TestThread.result { kind.accept(SubmitFromInside()) })
    }

    @Test func `a submitted read inside a write stops`() async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let value = Synchronized<Int, SerialQueueAsyncStrategy>(0)
            value.write { _ in try? value.submitRead({ $0 }, completion: { _ in }) }
        }
        let said = ReentrySentence(exit)
        #expect(said.names("submitRead", inside: "write", at: #fileID, .serialQueueAsync))
    }

    /// A thread that releases the value asks the condition, and would wait for the other value.
    @Test func `a condition that reads another value stops, issue 46`() async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (value, other) = (Guarded<Int>(0), Guarded<Int>(0))
            let inside = Gate()
            let waiter = TestThread {
                value.write(
                    when: { count in
                        guard count > 0 else {
                            inside.open()
                            return false
                        }
                        return other.read { $0 } >= 0
                    },
                    { $0 -= 1 }
                )
            }
            inside.pass()
            value.write { $0 += 1 }
            waiter.join()
        }
        let said = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        let place = "at \(#fileID)"
        #expect(said.contains("Latchkey: read \(place):"))
        #expect(said.contains(" inside the condition of write(when:) \(place):"))
        #expect(said.contains("compares the value that it is given"))
    }

    @Test func `a task's condition that reads another value stops, issue 46`() async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (value, other) = (Guarded<Int>(0), Guarded<Int>(0))
            try await value.asyncWrite(when: { _ in other.value == 0 }, { $0 -= 1 })
        }
        let said = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("value inside the condition of asyncWrite(when:) at \(#fileID):"))
    }

    @Test func `a task that waits for a condition inside a read stops, issue 46`() async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let value = Guarded<Int>(0)
            value.read { _ in
                _ = Task.immediate { try await value.asyncRead(when: { $0 > 0 }, { _ in }) }
            }
        }
        let said = ReentrySentence(exit)
        #expect(said.names("asyncRead(when:)", inside: "read", at: #fileID, .adaptive))
    }

    @Test func `reading all stripes inside one of them stops`() async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let values = Striped<Int, LockStrategy>(count: 4) { $0 }
            values.write(2) { $0 += values.readAll { $0.count } }
        }
        #expect(ReentrySentence(exit).names("readAll", inside: "write", at: #fileID, .lock))
    }
}

/// Strategies without the check of `Synchronized`, as in an unchecked build.
@Suite(.timeLimit(.minutes(15)))
struct UncheckedReentryTests {
    @Test(
        arguments: [StrategyKind.recursiveLock, .monitor],
        [["write", "write"], ["read", "write"], ["write", "read"]]
    )
    func `a lock that may be entered again stops an access that it excludes`(
        kind: StrategyKind,
        pair: [String]
    ) async {
        let exit = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = kind.rawValue as String, pair] in
            if name == "monitor" {
                nest(MonitorStrategy(), pair[0], inside: pair[1])
            } else {
                nest(RecursiveLockStrategy(), pair[0], inside: pair[1])
            }
        }
        if pair == ["write", "write"] {
            #expect(ReentrySentence(exit).names("write", inside: "write", at: nil, kind))
        }
    }

    @Test(arguments: [AccessMode.read, .write])
    func `a read-write lock stops inside a write`(mode: AccessMode) async {
        let exit = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = mode.rawValue as String] in
            let lock = ReadWriteLock()
            lock.lock()
            name == "read" ? lock.lockShared() : lock.lock()
        }
        let said = ReentrySentence(exit)
        #expect(said.names(mode.rawValue, inside: "write", at: nil, .readWriteLock))
    }

    @Test func `a recursive lock can be entered again after a read inside a read`() {
        let strategy = RecursiveLockStrategy()
        nest(strategy, "read", inside: "read")
        let guarded = GuardedValue(0)
        let count = strategy.write(guarded) { value in
            value += 1
            return value
        }
        #expect(count == 1)
    }

    @Test func `a snapshot's write inside a read takes effect for later reads`() {
        let strategy = SnapshotStrategy()
        let guarded = GuardedValue(1)
        strategy.begin(guarded)
        strategy.read(guarded) { old in
            strategy.write(guarded) { $0 = 2 }
            #expect(old == 1)
            strategy.read(guarded) { #expect($0 == 2) }
        }
    }
}

/// Enters one value by `outer` and, inside, by `inner`.
private func nest<ChosenStrategy: BlockingStrategy>(
    _ strategy: ChosenStrategy,
    _ inner: String,
    inside outer: String
) {
    let guarded = GuardedValue(0)
    strategy.begin(guarded)
    func enter(_ name: String, _ body: () -> Void) {
        if name == "read" {
            strategy.read(guarded) { _ in body() }
        } else {
            strategy.write(guarded) { _ in body() }
        }
    }
    enter(outer) { enter(inner) {} }
}

/// The message that a stopped process leaves.
struct ReentrySentence {
    private let text: String

    init(_ exit: ExitTest.Result?) {
        let output = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        text = output.replacing(#/swift:\d+/#, with: "swift:#")
    }

    /// Whether the message is that of `inner` inside `outer`, whatever the lines.
    func names(
        _ inner: String,
        inside outer: String,
        at file: String?,
        _ kind: StrategyKind,
        innerHasPlace: Bool = true
    ) -> Bool {
        let place = file.map { " at \($0):#" } ?? ""
        return text.contains(
            """
            Latchkey: \(inner)\(innerHasPlace ? place : "") inside \(outer)\(place) of the same \
            value, guarded by '\(kind.rawValue)'.
            """
        ) && text.contains("Pass the value down")
    }
}

/// Enters a value by one access function and, inside, by another one; true if that works.
private struct Nested: StrategyVisitor {
    let inner: String
    let outer: String

    init(_ inner: String, inside outer: String) {
        self.inner = inner
        self.outer = outer
    }

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Bool { false }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Bool {
        if [inner, outer].contains("tryWrite"),
            let tried = ChosenStrategy.self as? any (LockingStrategy & MakeableStrategy).Type
        {
            return nestTries(tried)
        }
        let value = Synchronized<Int, ChosenStrategy>(7)
        func enter(_ name: String, _ body: () -> Bool) -> Bool {
            switch name {
            case "read": value.read { _ in body() }
            case "readHoldingWriters": value.readHoldingWriters { _ in body() }
            default: value.write { _ in body() }
            }
        }
        return enter(outer) { enter(inner) { true } }
    }

    private func nestTries<Tried: LockingStrategy & MakeableStrategy>(
        _ strategy: Tried.Type
    ) -> Bool {
        let value = Synchronized<Int, Tried>(0)
        func enter(_ name: String, _ body: () -> Bool) -> Bool {
            switch name {
            case "write": value.write { _ in body() }
            case "readHoldingWriters": value.readHoldingWriters { _ in body() }
            default: value.tryWrite { _ in body() } ?? false
            }
        }
        return enter(outer) { enter(inner) { true } }
    }
}

private struct CanBeTried: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Bool {
        ChosenStrategy.self is any LockingStrategy.Type
    }
}

private struct NestedInAnother: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Bool { false }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Bool {
        let first = Synchronized<Int, ChosenStrategy>(1)
        let second = Synchronized<Int, ChosenStrategy>(2)
        return first.write { one in second.write { $0 + one } } == 3
    }
}

private struct SubmitFromInside: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Bool {
        let value = Synchronized<Int, ChosenStrategy>(0)
        let applied = Gate()
        try? value.submitWrite(
            { _ in try? value.submitWrite({ $0 += 1 }, completion: { applied.open() }) },
            completion: {}
        )
        return applied.pass()
    }
}
