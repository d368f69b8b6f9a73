import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Writes to several stripes at once.
@Suite(.timeLimit(.minutes(15)), .serialized)
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
