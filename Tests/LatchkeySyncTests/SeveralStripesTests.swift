import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Writes to several stripes at once.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct SeveralStripesTests {
    @Test(arguments: StrategyKind.allCases)
    func `writes of one thread apply in order, those to several stripes included`(
        kind: StrategyKind
    ) async {
        #expect(await TestThread.result { kind.accept(OrderOfSubmission()) } == Array(0..<300))
    }

    @Test(arguments: StrategyKind.allCases.filter(\.traits.appliesWritesAsynchronously))
    func `several stripes may be submitted to from inside one of them`(
        kind: StrategyKind
    ) async {
        #expect(await TestThread.result { kind.accept(SeveralFromInside()) })
    }

    @Test(arguments: StrategyKind.allCases.filter(\.traits.appliesWritesAsynchronously))
    func `a write that one stripe refuses reaches none`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(RefusedByOne()) } == [])
    }

    @Test(arguments: StrategyKind.allCases.filter(\.traits.blocksCaller))
    func `a body over several stripes that throws releases them`(kind: StrategyKind) {
        let expected = kind.traits.readsDuringWrites ? [0, 1, 2, 3] : [0, 7, 2, 3]
        #expect(kind.accept(ThrowsInside()) == expected)
    }

    @Test func `the observer hears of a write to each stripe`() {
        let observer = RecordingObserver()
        let values = Striped<Int, LockStrategy>(count: 4) { $0 }
        values.observed(by: observer).write(several: [1, 3]) { $0[0] += $0[1] }
        #expect(values.readAll { $0 } == [0, 4, 2, 3])
        #expect(observer.accesses == Array(repeating: [.asks(.write), .enters, .leaves], count: 2))
    }

    @Test(arguments: [1, 4, 5], StrategyKind.allCases)
    func `a submitted write reaches few stripes and many`(count: Int, kind: StrategyKind) async {
        let violations = await TestThread.result { kind.accept(FewAndMany(count: count)) }
        #expect(violations == [])
    }

    @Test func `values are moved to the body, not copied`() {
        let values = Striped<[Int], LockStrategy>(count: 2) { Array(repeating: $0, count: 100) }
        let before = (0..<2).map { values.read($0, Self.address) }
        values.write(several: [0, 1]) { lists in
            for index in lists.indices { lists[index][0] = 7 }
        }
        #expect((0..<2).map { values.read($0, Self.address) } == before)
    }

    private static func address(_ list: [Int]) -> Int {
        unsafe list.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    }

    @Test(arguments: [[], [1, 0], [1, 1]])
    func `stripes that are not ascending stop`(stripes: [Int]) async {
        await #expect(processExitsWith: .failure) { [stripes] in
            Striped<Int, LockStrategy>(count: 4) { $0 }.write(several: stripes) { _ in }
        }
        await #expect(processExitsWith: .failure) { [stripes] in
            let values = Striped<Int, LockStrategy>(count: 4) { $0 }
            try values.submitWrite(several: stripes, { _ in }, completion: {})
        }
    }

    @Test func `a body that drops a value stops`() async {
        await #expect(processExitsWith: .failure) {
            let values = Striped<Int, LockStrategy>(count: 4) { $0 }
            try values.submitWrite(several: [1, 2], { $0.removeAll() }, completion: {})
        }
        await #expect(processExitsWith: .failure) {
            Striped<Int, LockStrategy>(count: 4) { $0 }.write(several: [1, 2]) { $0.removeAll() }
        }
    }
}

private struct OrderOfSubmission: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [Int] {
        let values = Striped<[Int], ChosenStrategy>(count: 4) { _ in [] }
        let completed = Arrivals()
        for number in 0..<300 {
            if number.isMultiple(of: 2) {
                try? values.submitWrite(
                    several: [0, 1, 3],
                    { $0[2].append(number) },
                    completion: { completed.arrive() }
                )
            } else {
                try? values.submitWrite(
                    3,
                    { $0.append(number) },
                    completion: { completed.arrive() }
                )
            }
        }
        completed.wait(for: 300)
        let seen = Collected<[Int]>([])
        let read = Gate()
        try? values.submitRead(
            3,
            { list in seen.with { $0 = list } },
            completion: { read.open() }
        )
        read.pass()
        return seen.with { $0 }
    }
}

/// A write to the last stripes of eight, of which few are entered one inside the other.
private struct FewAndMany: StrategyVisitor {
    let count: Int

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        let observer = RecordingObserver()
        let values = Striped<Int, ChosenStrategy>(count: 8) { $0 }
        let completed = Gate()
        let seen = Collected<[Int]>([])
        try? values.submitWrite(
            several: Array((8 - count)..<8),
            observer: observer,
            { inside in
                for index in inside.indices { inside[index] += 10 }
            },
            completion: { completed.open() }
        )
        completed.pass()
        let read = Gate()
        values.submitReadAll({ all in seen.with { $0 = all } }, completion: { read.open() })
        read.pass()
        let expected = (0..<8).map { $0 < 8 - count ? $0 : $0 + 10 }
        var violations: [String] = []
        if seen.with({ $0 }) != expected {
            violations.append("the stripes hold \(seen.with { $0 })")
        }
        let calls = observer.accesses
        let isWhole = calls.allSatisfy { $0.first == .asks(.write) && $0.last == .leaves }
        if calls.count != count || !isWhole {
            violations.append("the observer heard \(calls)")
        }
        return violations
    }
}

private struct SeveralFromInside: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Bool {
        let values = Striped<Int, ChosenStrategy>(count: 4) { $0 }
        let applied = Gate()
        try? values.submitWrite(
            2,
            { _ in
                try? values.submitWrite(
                    several: [1, 2],
                    { $0[1] += $0[0] },
                    completion: { applied.open() }
                )
            },
            completion: {}
        )
        return applied.pass()
    }
}

private struct RefusedByOne: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        let values = Striped<Int, ChosenStrategy>(
            count: 2,
            strategy: { ChosenStrategy(backlogMax: 1) },
            value: { _ in 0 }
        )
        let (inside, leave, applied) = (Gate(), Gate(), Arrivals())
        // On a thread of its own: an unused actor runs on the thread that submits.
        let holder = TestThread {
            try? values.submitWrite(
                1,
                { _ in
                    inside.open()
                    leave.pass()
                },
                completion: { applied.arrive() }
            )
        }
        inside.pass()
        var violations: [String] = []
        do throws(BacklogFull) {
            try values.submitWrite(several: [0, 1], { $0[0] = 1 }, completion: {})
            violations.append("a write above the bound was accepted")
        } catch {}
        if values.backlogCount != 1 {
            violations.append("\(values.backlogCount) writes are in the backlog")
        }
        leave.open()
        holder.join()
        applied.wait(for: 1)
        try? values.submitWrite(several: [0, 1], { $0[1] = 2 }, completion: { applied.arrive() })
        if !applied.wait(for: 2) || values.backlogCount != 0 {
            violations.append("the backlog was not worked off")
        }
        return violations
    }
}

private struct ThrowsInside: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [Int] { [] }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [Int] {
        let values = Striped<Int, ChosenStrategy>(count: 4) { $0 }
        try? values.write(several: [1, 2]) { (values) throws(BacklogFull) in
            values[0] = 7
            throw BacklogFull()
        }
        values.write(2) { _ in }
        return values.readAll { $0 }
    }
}
