import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// One contract for all strategies: what is supported works, the rest stops with a sentence.
///
/// The sentences are a checked build's, which a test build is. What unchecked builds promise is
/// tried on the strategies themselves.
@Suite(.timeLimit(.minutes(5)))
struct ReentryTests {
    static let blocking = StrategyKind.allCases.filter(\.traits.blocksCaller)
    static let reentrant = blocking.filter(\.traits.isReentrant)
    static let notReentrant = blocking.filter { !$0.traits.isReentrant }

    @Test(arguments: reentrant)
    func `reading inside a read works where promised`(kind: StrategyKind) {
        #expect(kind.accept(Nested(.read, .read)))
        #expect(kind.accept(Nested(.readHoldingWriters, .read)))
        #expect(kind.accept(Nested(.read, .readHoldingWriters)))
    }

    @Test(arguments: notReentrant)
    func `reading inside a read stops elsewhere`(kind: StrategyKind) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = kind.rawValue as String] in
            _ = StrategyKind(rawValue: name)?.accept(Nested(.read, .read))
        }
        #expect(Sentence.names(kind, "read", inside: "read", result?.standardErrorContent))
    }

    @Test(arguments: blocking)
    func `a write inside a read stops`(kind: StrategyKind) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = kind.rawValue as String] in
            _ = StrategyKind(rawValue: name)?.accept(Nested(.read, .write))
        }
        #expect(Sentence.names(kind, "write", inside: "read", result?.standardErrorContent))
    }

    @Test(arguments: blocking)
    func `a read inside a write stops`(kind: StrategyKind) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = kind.rawValue as String] in
            _ = StrategyKind(rawValue: name)?.accept(Nested(.write, .read))
        }
        #expect(Sentence.names(kind, "read", inside: "write", result?.standardErrorContent))
    }

    @Test(arguments: blocking)
    func `a write inside a write stops`(kind: StrategyKind) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = kind.rawValue as String] in
            _ = StrategyKind(rawValue: name)?.accept(Nested(.write, .write))
        }
        #expect(Sentence.names(kind, "write", inside: "write", result?.standardErrorContent))
    }

    @Test(arguments: blocking)
    func `another value may be entered inside`(kind: StrategyKind) {
        #expect(kind.accept(NestedInAnother()))
    }

    @Test func `a submitted read inside a write stops`() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            let value = Synchronized<Int, SerialQueueAsyncStrategy>(0)
            value.write { _ in
                try? value.submitRead({ $0 }, completion: { _ in })
            }
        }
        #expect(
            Sentence.names(
                .serialQueueAsync,
                "submitRead",
                inside: "write",
                result?.standardErrorContent
            )
        )
    }

    @Test func `reading all stripes inside one of them stops`() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            let values = Striped<Int, LockStrategy>(count: 4) { $0 }
            values.write(2) { $0 += values.readAll { $0.count } }
        }
        #expect(
            Sentence.names(
                .lock,
                "readAll",
                inside: "write",
                result?.standardErrorContent
            )
        )
    }

    /// An asynchronous write takes its place behind the section that submits it.
    @Test(arguments: StrategyKind.allCases.filter(\.traits.appliesWritesAsynchronously))
    func `submitting a write from inside works where writes are asynchronous`(
        kind: StrategyKind
    ) async {
        #expect(await TestThread.result { kind.accept(SubmitFromInside()) })
    }
}

/// What a strategy does without the check of `Synchronized`, as in an unchecked build.
@Suite(.timeLimit(.minutes(5)))
struct UncheckedReentryTests {
    @Test func `a recursive lock stops a write inside a write`() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            nest(RecursiveLockStrategy(), .write, .write)
        }
        #expect(
            Sentence.names(.recursiveLock, "write", inside: "write", result?.standardErrorContent)
        )
    }

    @Test func `a recursive lock stops a read inside a write`() async {
        await #expect(processExitsWith: .failure) {
            nest(RecursiveLockStrategy(), .write, .read)
        }
    }

    @Test func `a recursive lock stops a write inside a read`() async {
        await #expect(processExitsWith: .failure) {
            nest(RecursiveLockStrategy(), .read, .write)
        }
    }

    @Test func `a monitor stops a write inside a write`() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            nest(MonitorStrategy(), .write, .write)
        }
        #expect(Sentence.names(.monitor, "write", inside: "write", result?.standardErrorContent))
    }

    @Test func `a monitor stops a write inside a read`() async {
        await #expect(processExitsWith: .failure) {
            nest(MonitorStrategy(), .read, .write)
        }
    }

    @Test func `a recursive lock can be entered again after a read inside a read`() {
        let strategy = RecursiveLockStrategy()
        nest(strategy, .read, .read)
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

    enum Access {
        case read
        case write
    }
}

/// Enters one value by `outer` and, inside, by `inner`.
private func nest<ChosenStrategy: BlockingStrategy>(
    _ strategy: ChosenStrategy,
    _ outer: UncheckedReentryTests.Access,
    _ inner: UncheckedReentryTests.Access
) {
    let guarded = GuardedValue(0)
    strategy.begin(guarded)
    func enter(_ access: UncheckedReentryTests.Access, _ body: () -> Void) {
        switch access {
        case .read: strategy.read(guarded) { _ in body() }
        case .write: strategy.write(guarded) { _ in body() }
        }
    }
    enter(outer) {
        enter(inner) {}
    }
}

/// The message that a stopped process leaves.
private enum Sentence {
    /// Whether the message names the strategy, what was nested in what, and both places.
    static func names(
        _ kind: StrategyKind,
        _ inner: String,
        inside outer: String,
        _ output: [UInt8]?
    ) -> Bool {
        let text = String(decoding: output ?? [], as: UTF8.self)
        return text.contains("'\(kind.rawValue)'")
            && text.contains("\(inner)")
            && text.contains(" inside \(outer)")
            && text.contains("Pass the value down")
    }
}

/// Enters a value by one access function and, inside, by another one.
private struct Nested: StrategyVisitor {
    enum Access {
        case read
        case readHoldingWriters
        case write
    }

    let outer: Access
    let inner: Access

    init(_ outer: Access, _ inner: Access) {
        self.outer = outer
        self.inner = inner
    }

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Bool {
        false
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Bool {
        let value = Synchronized<Int, ChosenStrategy>(7)
        func enter(_ access: Access, _ body: () -> Bool) -> Bool {
            switch access {
            case .read: value.read { _ in body() }
            case .readHoldingWriters: value.readHoldingWriters { _ in body() }
            case .write: value.write { _ in body() }
            }
        }
        return enter(outer) { enter(inner) { true } }
    }
}

private struct NestedInAnother: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Bool {
        false
    }

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
            { _ in
                try? value.submitWrite({ $0 += 1 }, completion: { applied.open() })
            },
            completion: {}
        )
        return applied.pass()
    }
}
