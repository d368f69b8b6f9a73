import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Stripes that are found by key.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct StripedKeyTests {
    static let blocking = StrategyKind.allCases.filter(\.traits.blocksCaller)

    @Test func `equal keys have one stripe`() {
        let values = Striped<Int, AdaptiveStrategy>(count: 8) { $0 }
        for key in ["ada", "bob", ""] {
            let stripe = values.index(of: key)
            #expect(values.read(key: key) { $0 } == stripe)
            #expect(values.index(of: String(key.reversed().reversed())) == stripe)
        }
    }

    @Test(arguments: blocking)
    func `no update by key is lost`(kind: StrategyKind) async {
        #expect(await TestThread.result { kind.accept(CountsByKey()) } == 4 * 400)
    }

    /// Each thread names its keys in an order of its own: with locks taken in that order they would
    /// wait for each other in a circle.
    @Test(arguments: blocking)
    func `a write to several keys is seen as a whole, and no thread waits in a circle`(
        kind: StrategyKind
    ) async {
        #expect(await TestThread.result { kind.accept(TransfersByKey()) } == [])
    }

    @Test func `each stripe is entered once, whatever the keys`() {
        let observer = RecordingObserver()
        let values = Striped<[Int: Int], AdaptiveStrategy>(count: 1) { _ in [:] }
        let observed = values.observed(by: observer)
        observed.write(keys: [3, 1, 3, 2]) {
            $0[3][3] = 30
            $0[1][1] = 10
        }
        #expect(observed.read(keys: [1, 3]) { $0[1][1]! + $0[3][3]! } == 40)
        #expect(
            observer.accesses == [
                [.asks(.write), .enters, .leaves], [.asks(.read), .enters, .leaves],
            ]
        )
    }

    @Test func `values found by key are changed in place, not copied`() {
        let values = Striped<[Int], AdaptiveStrategy>(count: 4) { Array(repeating: $0, count: 100) }
        let before = (0..<4).map { values.read($0, Self.address) }
        values.write(keys: 0..<50) { lists in
            for key in 0..<50 { lists[key][0] = 7 }
        }
        #expect((0..<4).map { values.read($0, Self.address) } == before)
    }

    private static func address(_ list: [Int]) -> Int {
        unsafe list.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    }

    @Test func `a body over several keys that throws keeps its changes and releases`() {
        struct Refusal: Error {}
        let values = Striped<Int, AdaptiveStrategy>(count: 4) { _ in 0 }
        #expect(throws: Refusal.self) {
            try values.write(keys: [1]) { (values) throws(Refusal) in
                values[1] = 5
                throw Refusal()
            }
        }
        #expect(values.read(key: 1) { $0 } == 5)
    }

    @Test func `a key that was not named stops even in an entered stripe`() async {
        await #expect(processExitsWith: .failure) {
            let values = Striped<Int, AdaptiveStrategy>(count: 1) { $0 }
            values.write(keys: [1]) { $0[2] += 1 }
        }
    }

    @Test func `a key's stripe has the access functions of one value`() {
        let values = Striped<[String: Int], AdaptiveStrategy>(count: 8) { _ in [:] }
        for number in 0..<100 {
            values[key: "\(number)"].withLock { $0["\(number)"] = number }
        }
        for number in 0..<100 {
            #expect(values.read(key: "\(number)") { $0["\(number)"] } == number)
        }
    }

    @Test func `no key at all stops`() async {
        await #expect(processExitsWith: .failure) {
            let values = Striped<Int, AdaptiveStrategy>(count: 4) { $0 }
            values.write(keys: [] as [Int]) { _ in }
        }
    }
}

private struct CountsByKey: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Int { 0 }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Int {
        let counts = Striped<[Int: Int], ChosenStrategy>(count: 4) { _ in [:] }
        let ended = TestThread.run(4) { _ in
            for round in 0..<400 {
                let key = round % 16
                counts.write(key: key) { $0[key, default: 0] += 1 }
            }
        }
        let sum = (0..<16).map { key in counts.read(key: key) { $0[key] ?? 0 } }.reduce(0, +)
        return ended ? sum : -1
    }
}

private struct TransfersByKey: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> [String] { [] }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [String] {
        let accounts = Striped<[Int: Int], ChosenStrategy>(count: 8) { _ in [:] }
        let torn = Arrivals()
        let ended = TestThread.run(4) { index in
            for round in 0..<100 {
                let (payer, payee) = ((index + round) % 16, (index * 5 + round * 3 + 1) % 16)
                if index == 3 {
                    accounts.read(keys: (0..<16).reversed()) { accounts in
                        if (0..<16).reduce(0, { $0 + (accounts[$1][$1] ?? 0) }) != 0 {
                            torn.arrive()
                        }
                    }
                } else {
                    accounts.write(keys: [payer, payee]) {
                        $0[payer][payer, default: 0] -= 1
                        $0[payee][payee, default: 0] += 1
                    }
                }
            }
        }
        return (ended ? [] : ["threads wait for each other"])
            + (torn.value == 0 ? [] : ["half of a write was seen"])
    }
}
