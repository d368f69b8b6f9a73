import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The strategy chosen by name.
@Suite(.timeLimit(.minutes(15)))
struct AnySynchronizedTests {
    @Test(arguments: StrategyKind.allCases)
    func `every strategy can be chosen by name`(kind: StrategyKind) async throws {
        let scores = AnySynchronized<[String: Int]>([:], kind: kind)
        #expect(scores.kind == kind)
        for _ in 0..<10 {
            try await scores.asyncWrite { $0["ada", default: 0] += 1 }
        }
        #expect(try await scores.asyncRead { $0["ada"] } == 10)
        #expect(scores.backlogCount == 0)
    }

    @Test(arguments: StrategyKind.allCases)
    func `the blocking access functions exist where the strategy can block`(kind: StrategyKind) {
        let scores = AnySynchronized<Int>(1, kind: kind)
        #expect((scores.blocking != nil) == kind.traits.blocksCaller)
        if let blocking = scores.blocking {
            blocking.write { $0 += 1 }
            #expect(blocking.read { $0 } == 2)
        }
    }

    @Test(arguments: [StrategyKind.adaptive, .snapshot, .serialQueueAsync])
    func `a write inside a write stops with the strategy's name`(kind: StrategyKind) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = kind.rawValue as String] in
            let value = StrategyKind(rawValue: name).map { AnySynchronized<Int>(1, kind: $0) }
            value?.blocking?.write { _ in value?.blocking?.write { $0 += 1 } }
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("of the same value, guarded by '\(kind.rawValue)'"))
    }

    @Test func `accesses submitted past the blocking functions run as the strategy promises`() async
    {
        let scores = AnySynchronized<Int>(1, kind: .serialQueueAsync)
        let completed = Gate()
        let value = await TestThread.result {
            scores.blocking?.write { _ in
                try? scores.blocking?.submitWrite({ $0 += 1 }, completion: { completed.open() })
            }
            return completed.pass() ? scores.blocking?.read { $0 } : nil
        }
        #expect(value == 2)
    }

    @Test(arguments: [StrategyKind.adaptive, .snapshot, .barrierQueueAsync, .actor])
    func `stripes have a strategy that is chosen by name`(kind: StrategyKind) async throws {
        let observer = RecordingObserver()
        let counts = Striped(count: 8, strategy: { AnyStrategy(kind) }, value: { $0 })
        let (completed, seen) = (Gate(), Collected<[Int]>([]))
        try counts.observed(by: observer).submitWrite(
            several: [4, 5, 6, 7],
            { values in values = values.map { $0 + 10 } },
            completion: { completed.open() }
        )
        #expect(await TestThread.result { completed.pass() })
        counts.submitReadAll({ all in seen.with { $0 = all } }, completion: { completed.open() })
        #expect(await TestThread.result { completed.pass() })
        #expect(seen.with { $0 } == (0..<8).map { $0 < 4 ? $0 : $0 + 10 })
        #expect(observer.accesses.count == 4)
        for calls in observer.accesses {
            #expect(calls.first == .asks(.write) && calls.last == .leaves)
        }
        for index in 0..<8 {
            #expect(try await counts[index].asyncRead { $0 } == seen.with { $0[index] })
        }
    }

    @Test func `an observer hears of a strategy that is chosen by name`() {
        let scores = AnySynchronized<Int>(1, kind: .adaptive)
        let observer = RecordingObserver()
        scores.blocking?.observed(by: observer).write { $0 += 1 }
        try? scores.observed(by: observer).submitRead({ _ in }, completion: {})
        #expect(
            observer.accesses == [
                [.asks(.write), .enters, .leaves], [.asks(.read), .enters, .leaves],
            ]
        )
    }

    @Test func `a visit says whether a strategy is one lock, can block, or only submits`() {
        #expect(StrategyKind.lock.accept(VisitName()) == "lock")
        #expect(StrategyKind.mutex.accept(VisitName()) == "lock")
        #expect(StrategyKind.snapshot.accept(VisitName()) == "blocking")
        #expect(StrategyKind.serialQueueAsync.accept(VisitName()) == "blocking")
        for kind in StrategyKind.allCases {
            #expect((kind.accept(VisitName()) == "any") != kind.traits.blocksCaller)
        }
    }
}

/// The function of the visitor that a strategy calls.
private struct VisitName: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> String {
        "any"
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> String { "blocking" }

    func visitLock<Lock: NamedLock>(_ strategy: RawLockStrategy<Lock>.Type) -> String { "lock" }
}
