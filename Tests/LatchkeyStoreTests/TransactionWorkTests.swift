import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The bound on what a transaction reads and writes while its stripes are held.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct TransactionWorkTests {
    private static func bench(byteCountMax: Int) -> JournaledBench<LockStrategy> {
        var limits = StoreLimits()
        limits.transactionByteCountMax = byteCountMax
        return JournaledBench(limits: limits)
    }

    private static func merge(_ name: String, _ patch: String) -> Change.Step {
        let patch = OwnedBytes(Array(patch.utf8))
        let step = Change.Step(.owning(name), unsafe .merge(patch.bytes))
        return withExtendedLifetime(patch) { step.copy(.none) }
    }

    /// A merge into 7 bytes reads them and 2 of the patch, and writes 7: 16 in all.
    @Test func `merges at the bound are made, and one more is refused`() {
        let bench = Self.bench(byteCountMax: 160)
        bench.put("a", #"{"x":1}"#)
        let steps = Array(repeating: Self.merge("a", "{}"), count: 10)
        #expect(Outcome(bench.store.commit(steps)) == .replaced(2))
        let before = BlockingStore(bench.base).digest()
        let many = bench.store.commit([.put("b", "1")] + steps + [.increment("c")])
        #expect(Outcome(many) == .refused(.step(11, .then, .transactionTooLarge)))
        #expect(BlockingStore(bench.base).digest() == before, "nothing is applied")
        #expect(bench.base.usage.propertyCount == 1)
    }

    @Test func `values that conditions compare count, and a single change does not`() {
        let bench = Self.bench(byteCountMax: 20)
        let long = String(repeating: "1", count: 30)
        bench.put("a", "123456")
        bench.put("b", #"{"x":"\#(long)"}"#)
        func decide(_ text: String) -> Decision {
            let value = OwnedBytes(Array(text.utf8))
            let equals = Transaction.Condition(.owning("a"), unsafe .equals(value.bytes))
            return withExtendedLifetime(value) {
                bench.store.commit(.transaction(Transaction(if: [equals], [.get("a")])))
            }
        }
        #expect(Outcome(decide("12345678901234")) == .unchanged(2))
        #expect(Outcome(decide("123456789012345")) == .refused(.transactionTooLarge))
        #expect(Outcome(bench.store.commit([Self.merge("b", "{}")])) == .replaced(3))
        #expect(Outcome(bench.store.commit([.put("c", long), .delete("b")])) == .created(4))
    }

    /// 128 merges into a value of 1 MiB held a stripe for 1.7 s.
    @Test func `short steps cannot work on a long value without end, issue 17`() {
        let bench = JournaledBench<LockStrategy>()
        bench.put("a", #"{"x":"\#(String(repeating: "x", count: 1 << 20))"}"#)
        let steps = (0..<128).map { Self.merge("a", #"{"y":\#($0)}"#) }
        #expect(
            Outcome(bench.store.commit(steps))
                == .refused(.step(1, .then, .transactionTooLarge))
        )
        #expect(Outcome(bench.store.commit(Array(steps[..<1]))) == .replaced(2))
    }
}
