import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Two values entered together, and values that cannot be copied.
@Suite(.timeLimit(.minutes(15)))
struct TwoGuardsTests {
    static let blocking = StrategyKind.allCases.filter {
        $0.traits.blocksCaller && !$0.traits.readsDuringWrites
    }

    @Test(arguments: blocking)
    func `threads that name two values in either order lose nothing, and all end`(
        kind: StrategyKind
    ) async {
        #expect(await TestThread.result { kind.accept(Transfers()) } == [])
    }

    @Test func `two values of different strategies are entered together`() {
        let numbers = Synchronized<[Int], SpinStrategy>([1, 2])
        let names = Synchronized<[String], SerialQueueStrategy>(["a", "b"])
        let last = numbers.write(with: names) { numbers, names in
            names.append("\(numbers.removeLast())")
            return names.count
        }
        #expect(last == 3)
        #expect(names.value == ["a", "b", "2"])
        #expect(numbers.value == [1])
    }

    @Test func `a value entered with itself stops with a sentence`() async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let value = Guarded<Int>(0)
            value.write(with: value) { $0 += $1 }
        }
        let said = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("Two values are entered together"))
    }

    @Test func `a value that cannot be copied is read by several readers at once`() {
        let value = Synchronized<Single, ReadWriteLockStrategy>(Single(number: 7))
        let sum = value.read { single in
            let other = Collected(0)
            let reader = TestThread {
                let number = value.read { $0.number }
                other.with { $0 = number }
            }
            return reader.join() ? single.number + other.with { $0 } : 0
        }
        #expect(sum == 14)
    }

    @Test func `a reader is let in beside another one if that is possible at once`() {
        let value = Synchronized<Int, ReadWriteLockStrategy>(7)
        let sum = Collected<Int?>(nil)
        let isRefused = Collected(false)
        let reader = value.read { first in
            TestThread {
                let number = value.tryRead { $0 }
                sum.with { $0 = number.map { first + $0 } }
                let written: Void? = value.tryWrite { $0 = 0 }
                isRefused.with { $0 = written == nil }
            }.join()
        }
        #expect(reader)
        #expect(sum.with { $0 } == 14)
        #expect(isRefused.with { $0 })
    }
}

private struct Single: ~Copyable {
    let number: Int
}

/// Moves amounts from one value to another, and back.
private struct Transfers: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] {
        (strategy as? any (InPlaceStrategy & MakeableStrategy).Type).map { transfer($0) }
            ?? ["the value is not in its place"]
    }

    private func transfer<InPlace: InPlaceStrategy & MakeableStrategy>(
        _ strategy: InPlace.Type
    ) -> [String] {
        let first = Synchronized<Int, InPlace>(0)
        let second = Synchronized<Int, InPlace>(0)
        let ended = TestThread.run(4) { index in
            for round in 0..<200 {
                let (payer, payee) = index.isMultiple(of: 2) ? (first, second) : (second, first)
                payer.write(with: payee) { payer, payee in
                    payer -= 1
                    if round.isMultiple(of: 8) {
                        Yield.now()
                    }
                    payee += 2
                }
            }
        }
        guard ended else { return ["threads wait for each other in a circle"] }
        let sum = first.write(with: second) { $0 + $1 }
        return sum == 800 ? [] : ["the values have \(sum)"]
    }
}
