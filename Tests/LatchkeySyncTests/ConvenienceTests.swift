import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The access functions that have a name of their own, under every strategy that blocks.
@Suite(.timeLimit(.minutes(15)))
struct ConvenienceTests {
    static let blocking = StrategyKind.allCases.filter(\.traits.blocksCaller)

    @Test(arguments: blocking)
    func `a value is copied, looked into, replaced and exchanged`(kind: StrategyKind) {
        #expect(kind.accept(CopyReplaceExchange()) == [1, 4, 4, 2, 2, 7, 7])
    }

    /// Each thread puts its own numbers in: every number comes out exactly once.
    @Test(arguments: blocking)
    func `each exchanged value comes out exactly once`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(ExchangedOnce()) } == Array(0...800))
    }

    @Test(arguments: [
        StrategyKind.adaptive, .lock, .mcs, .monitor, .pthreadAdaptive, .pthreadMutex,
        .readWriteLock, .recursiveLock, .semaphore, .spin, .ticket,
    ])
    func `a lock is taken if it is available, whatever the value`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(TakenIfAvailable()) } == [])
    }

    @Test func `a replaced value is destroyed outside of the lock`() {
        let count = Guarded<Int>(0)
        let value = Guarded<AtEnd?>(nil)
        value.exchange(AtEnd { count.exchange(value.read { $0 == nil } ? 1 : 2) })
        value.exchange(nil)
        #expect(count.value == 1)
    }

    @Test func `a property is read as a copy and changed by its access functions`() {
        struct Session: Sendable {
            @GuardedProperty var attempts = 1
            @GuardedProperty var name: String?
        }
        let session = Session(name: nil)
        session.$attempts.write { $0 += 1 }
        session.$name.exchange("ada")
        let copy = session
        copy.$attempts.write { $0 += 1 }
        #expect(session.attempts == 3)
        #expect(session.name == "ada")
    }
}

private struct Text: Sendable {
    var characters: String
    var count: Int { characters.count }
}

private struct CopyReplaceExchange: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [Int] { [] }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [Int] {
        let text = Synchronized<Text, ChosenStrategy>(Text(characters: "a"))
        var counts = [text.value.count]
        text.write { $0.characters = "abcd" }
        counts += [text.value.count, text.read(\.count)]
        text.exchange(Text(characters: "ab"))
        counts += [text.value.characters.count, text.exchange(Text(characters: "abcdefg")).count]
        return counts + [text.value.count, text.read(\.count)]
    }
}

private struct ExchangedOnce: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [Int] { [] }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [Int] {
        let value = Synchronized<Int, ChosenStrategy>(0)
        let taken = Collected<[Int]>([])
        let ended = TestThread.run(4) { index in
            var own: [Int] = []
            for round in 0..<200 {
                own.append(value.exchange(1 + index * 200 + round))
            }
            taken.with { [own] in $0 += own }
        }
        return ended ? (taken.with { $0 } + [value.value]).sorted() : []
    }
}

private struct TakenIfAvailable: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        (ChosenStrategy.self as? any (InPlaceStrategy & LockingStrategy & MakeableStrategy).Type)
            .map { tried($0) } ?? ["cannot be tried"]
    }

    private func tried<Tried: InPlaceStrategy & LockingStrategy & MakeableStrategy>(
        _ strategy: Tried.Type
    ) -> [String] {
        let count = Synchronized<Count, Tried>(Count())
        let refused = Collected(false)
        var found: [String] = []
        count.withLock { _ in
            let other = TestThread {
                let isRefused = count.withLockIfAvailable { $0.value += 100 } == nil
                refused.with { $0 = isRefused }
            }
            if !other.join() { found.append("a try hangs") }
        }
        if !refused.with({ $0 }) { found.append("a try went in") }
        if count.withLockIfAvailable({ $0.value }) != 0 {
            found.append("a try is refused though no thread is inside")
        }
        return found
    }
}

/// Can be moved, not copied.
private struct Count: ~Copyable {
    var value = 0
}
