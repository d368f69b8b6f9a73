import LatchkeyStrategies
import LatchkeySync
import Testing

/// A write of several values moves them, so a body that changes a part of a large value does not
/// copy it: under every strategy but `snapshot`, whose writers copy.
@Suite struct SeveralInPlaceTests {
    private struct Addresses: StrategyVisitor {
        func visit<ChosenStrategy: MakeableStrategy>(_: ChosenStrategy.Type) -> Task<Bool, Never> {
            let values = Striped<[Int], ChosenStrategy>(count: 2) { _ in
                Array(repeating: 0, count: 1000)
            }
            return Task {
                var found: Set<Int> = []
                for _ in 0..<3 {
                    let address = await withCheckedContinuation { done in
                        do {
                            try values.submitWrite(several: [0, 1]) { values in
                                values[0][7] += 1
                                return unsafe values[0].withUnsafeBytes {
                                    Int(bitPattern: $0.baseAddress)
                                }
                            } completion: {
                                done.resume(returning: $0)
                            }
                        } catch {
                            done.resume(returning: 0)
                        }
                    }
                    found.insert(address)
                }
                return found.count == 1
            }
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `a write of several values leaves them where they are`(kind: StrategyKind) async {
        let staysInPlace = await kind.accept(Addresses()).value
        #expect(staysInPlace == (kind != .snapshot))
    }
}
