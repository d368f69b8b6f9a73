import LatchkeyJSON
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The limit on the work of a change while its stripes are held.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ChangeWorkTests {
    private static func bench(unitsMax: Int) -> JournaledBench {
        var limits = StoreLimits()
        limits.changeUnitsMax = unitsMax
        return JournaledBench(limits: limits)
    }

    private static func merge(_ name: String, _ patch: String) -> Change.Step {
        let patch = OwnedBytes(Array(patch.utf8))
        let step = Change.Step(.owning(name), unsafe .merge(patch.bytes))
        return withExtendedLifetime(patch) { step.copy(.none) }
    }

    private static func decide(
        _ bench: JournaledBench,
        _ name: String,
        equals text: String
    ) -> Decision {
        let value = OwnedBytes(Array(text.utf8))
        let equals = Transaction.Condition(.owning(name), unsafe .equals(value.bytes))
        return withExtendedLifetime(value) {
            bench.store.commit(.transaction(Transaction(if: [equals], [.get(name)])))
        }
    }

    /// An object with this many members, whose names follow from their numbers.
    private static func object(_ numbers: some Sequence<Int>) -> String {
        "{" + numbers.map { #""k\#($0)":1"# }.joined(separator: ",") + "}"
    }

    private static func text(_ units: Int) -> String {
        #"{"x":"\#(String(repeating: "x", count: units * 1024))"}"#
    }

    /// 163 bytes walked up to 58,000 names, 23 to 40 ms under all stripes, issue 46.
    @Test func `a name that is visited is a unit, and what is too much is refused`() {
        let bench = Self.bench(unitsMax: 1448)
        for number in 0..<936 { bench.put("u/\(number)", "1") }
        // 512 for the walk, 1 for the step.
        #expect(bench.store.commit([.get("b"), .count("u/1")]).refusal == nil)
        let refusal = bench.store.commit([.get("b"), .count("u/")]).refusal
        #expect(refusal == .step(1, .then, .transactionTooLarge))
        #expect(bench.base.usage.workUnits < 1688, "what is counted is not visited")
        bench.store.delete("u/0")
        bench.store.delete("u/1")
        #expect(bench.store.commit([.get("b"), .count("u/")]).refusal == nil)
        // A deleted name is visited and changed.
        let delete = bench.store.commit([.get("b"), .deletePrefix("u/")])
        #expect(delete.refusal == .step(1, .then, .transactionTooLarge))
        let before = bench.base.usage.workUnits
        #expect(bench.store.commit([.get("b"), .deletePrefix("u/20")]).refusal == nil)
        #expect(bench.base.usage.workUnits - before == 2 + 512 + 11 * 4)
    }

    @Test func `steps that find nothing are bounded, too`() {
        let store = BlockingStore(stripeCount: 128)
        let steps = (0..<15).map { Change.Step.count("none/\($0)") }
        #expect(store.commit(steps).refusal == nil)
        #expect(store.base.usage.workUnits == 15 * (1 + 512))
        let many = Array(repeating: Change.Step.count("none/"), count: 128)
        #expect(store.commit(many).refusal == .step(31, .then, .transactionTooLarge))
        // The same prefix is looked up once.
        let before = store.base.usage.workUnits
        #expect(store.commit(Array(repeating: .pop("none/"), count: 128)).refusal == nil)
        #expect(store.base.usage.workUnits - before == 128 + 512 + 127 * 64)
    }

    @Test func `a KiB that is merged is a unit, read and written, also alone`() {
        let bench = Self.bench(unitsMax: 50)
        bench.put("a", Self.text(20))
        #expect(bench.store.commit([.get("b"), Self.merge("a", "{}")]).refusal == nil)
        let twice = [Self.merge("a", "{}"), Self.merge("a", "{}")]
        #expect(bench.store.commit(twice).refusal == .step(1, .then, .transactionTooLarge))
        bench.put("a", Self.text(26))
        #expect(bench.store.commit([Self.merge("a", "{}")]).refusal == .transactionTooLarge)
        #expect(bench.store.commit([.get("b"), .touch("a", ttl: 9)]).refusal == nil)
        // Sixteen names and values are a unit, too.
        bench.put("a", Self.object(0..<500))
        #expect(bench.store.commit([Self.merge("a", "{}")]).refusal == .transactionTooLarge)
        bench.put("a", Self.object(0..<200))
        #expect(bench.store.commit([Self.merge("a", "{}")]).refusal == nil)
    }

    /// 1 MB took 47 to 96 ms, issue 46.
    @Test func `members in another order count, and the square of their number`() {
        let bench = JournaledBench()
        func units(_ one: String, _ other: String, _ outcome: Refusal? = nil) -> UInt64 {
            bench.put("a", one)
            let before = bench.base.usage.workUnits
            let decision = Self.decide(bench, "a", equals: other)
            #expect(decision.refusal == outcome)
            #expect(outcome != nil || (try? decision.get())?.outcome?.succeeded == true)
            return bench.base.usage.workUnits - before
        }
        let (many, reversed) = (Self.object(0..<7900), Self.object((0..<7900).reversed()))
        #expect(units(many, many) < 300, "the same bytes")
        #expect(units(many, many.replacing(":", with: ": ")) < 5000, "the same order")
        let unordered = units(many, reversed)
        #expect((15_000...16_000).contains(unordered), "\(unordered)")
        let few = units(Self.object(0..<79), Self.object((0..<79).reversed()))
        #expect(few * 100 < unordered, "a hundredth of the members is less than that of the work")
        let (more, other) = (Self.object(0..<9000), Self.object((0..<9000).reversed()))
        _ = units(more, other, .transactionTooLarge)
        // A large value is not even parsed, whatever it is compared with.
        _ = units("[" + String(repeating: "1,", count: 500_000) + "1]", "[2]", .transactionTooLarge)
    }

    /// One of 1 MB took a unit, and 15 comparisons of it 317 ms, issue 46.
    @Test func `a long number is refused by its length, and compared by its digits`() {
        let bench = Self.bench(unitsMax: 300)
        let digits = String(repeating: "1", count: 3000)
        func units(_ change: Change, _ refusal: Refusal?) -> UInt64 {
            let before = bench.base.usage.workUnits
            #expect(bench.store.commit(change).refusal == refusal)
            return bench.base.usage.workUnits - before
        }
        func compares(
            _ name: String,
            _ relation: JSONOrder.Relation,
            _ value: OwnedBytes
        )
            -> Change
        {
            let test = unsafe Transaction.Test.compares(relation, value.bytes)
            return .transaction(Transaction(if: [.init(.owning(name), test)], []))
        }
        bench.put("a", digits)
        #expect(units(.increment(.owning("a"), by: 1), .notAnInteger) == 0)
        bench.put("b", String(repeating: " ", count: 3000) + "5")
        #expect(units(.increment(.owning("b"), by: 1), nil) == 3001 / 32)
        bench.put("b", String(repeating: " ", count: 10_000) + "5")
        #expect(units(.increment(.owning("b"), by: 1), .transactionTooLarge) == 0)
        for text in ["-9223372036854775808", "9223372036854775806"] {
            bench.put("c", text)
            #expect(units(.increment(.owning("c"), by: 1), nil) == 0)
        }
        let five = OwnedBytes(Array("5".utf8))
        let list = OwnedBytes(Array("[5]".utf8))
        for (name, text, value) in [("d", digits, five), ("e", "[\(digits)]", list)] {
            bench.put(name, text)
            #expect(units(compares(name, .notEqual, value), nil) > 3000 / 32)
            let longer = String(repeating: digits, count: 4)
            bench.put(name, text.replacing(digits, with: longer))
            _ = units(compares(name, .notEqual, value), .transactionTooLarge)
        }
        bench.put("d", digits)
        #expect(units(compares("d", .greater, five), nil) == 1 + 2 + 3001 / 32)
        withExtendedLifetime((five, list)) {}
    }

    /// One above 16 MB could be put and not touched, issue 46.
    @Test func `a touch shares a long value, and is a unit`() throws {
        let bench = Self.bench(unitsMax: 2)
        bench.put("a", Self.text(20))
        let first = try #require(bench.store.property("a"))
        for _ in 0..<2 { #expect(bench.store.commit([.touch("a", ttl: 9)]).refusal == nil) }
        let last = try #require(bench.store.property("a"))
        #expect(!last.isSame(as: first) && last.isMortal && !first.isMortal)
        #expect(unsafe last.valueBytes.baseAddress == first.valueBytes.baseAddress)
        #expect(bench.store.text(last) == Self.text(20) && PropertyName(of: last).text == "a")
        bench.store.delete("a")
        #expect(bench.store.text(last) == Self.text(20), "also when the first one is gone")
        bench.put("b", "1")
        #expect(bench.store.commit([.touch("b", ttl: 9)]).refusal == nil)
        #expect(bench.store.value("b") == "1")
    }

    @Test func `a change of a few long values is not refused`() {
        let bench = JournaledBench()
        bench.put("a", Self.text(1024))
        #expect(bench.store.commit([Self.merge("a", #"{"y":1}"#)]).refusal == nil)
        let steps = (0..<7).map { Self.merge("a", #"{"y":\#($0)}"#) }
        #expect(bench.store.commit(steps).refusal == nil)
    }

    @Test(arguments: [1, 4, 128])
    func `the units are the same with any number of stripes`(stripeCount: Int) {
        var limits = StoreLimits()
        limits.changeUnitsMax = 4000
        let store = BlockingStore(stripeCount: stripeCount, limits: limits)
        for number in 0..<500 { _ = store.commit(Change(.put("a/\(number)", "1"))) }
        for number in 0..<50 {
            _ = store.commit([.count("a/\(number % 10)"), .claim("a/", "c/", ttl: 99)])
            _ = store.commit([.deletePrefix("a/\(number)"), .pop("a/"), .count("c/")])
            _ = store.commit([.count("a/"), .deletePrefix("a/", countMax: 90, isWhole: false)])
        }
        #expect(store.base.usage.workUnits == 183_425)
    }
}

/// Decisions by the first rules, as in 0.1: the bytes of a transaction are counted.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct FirstRulesWorkTests {
    private static func bench(byteCountMax: Int) -> JournaledBench {
        var limits = StoreLimits()
        limits.transactionByteCountMax = byteCountMax
        let bench = JournaledBench(limits: limits)
        bench.base.rules = .first
        return bench
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
        let bench = JournaledBench()
        bench.base.rules = .first
        bench.put("a", #"{"x":"\#(String(repeating: "x", count: 1 << 20))"}"#)
        let steps = (0..<128).map { Self.merge("a", #"{"y":\#($0)}"#) }
        #expect(
            Outcome(bench.store.commit(steps))
                == .refused(.step(1, .then, .transactionTooLarge))
        )
        #expect(Outcome(bench.store.commit(Array(steps[..<1]))) == .replaced(2))
    }

    /// Each walk looks at all that the steps before it have changed, too.
    @Test func `the bytes that a step looks at are bounded`() {
        let bench = Self.bench(byteCountMax: 10_000)
        let puts = (0..<60).map { Change.Step.put("z/\($0)", "1") }
        for step in [Change.Step.count("a/"), .deletePrefix("a/"), .pop("a/")] {
            let refusal = bench.store.commit(puts + [step, step, step]).refusal
            #expect(refusal == .step(62, .then, .transactionTooLarge))
        }
        for number in 0..<1000 { bench.put("a/\(number)", "1") }
        for step in [Change.Step.count("a/"), .deletePrefix("a/")] {
            let refusal = bench.store.commit([.get("b"), step]).refusal
            #expect(refusal == .step(1, .then, .transactionTooLarge))
        }
        // Names of 6 bytes and 64 for each: 142 of them, and 2 drafts.
        for number in 1..<142 { bench.put("b/\(number)", "1") }
        #expect(bench.store.commit([.get("b"), .count("b/")]).refusal == nil)
    }

    @Test func `a pop with a claim visits all names that are claimed`() {
        let bench = Self.bench(byteCountMax: 1000)
        for number in 100..<120 { bench.put("j/\(number)", "1") }
        var refusals: [Refusal?] = []
        for _ in 0..<20 {
            let steps: [Change.Step] = [.claim("j/", "c/", ttl: 100_000), .get("x")]
            refusals.append(bench.store.commit(steps).refusal)
        }
        // A visit is 69 bytes, and a draft 64.
        #expect(refusals.firstIndex { $0 != nil } == 12)
        bench.base.rules = .second
        #expect(bench.store.commit([.claim("j/", "c/", ttl: 9), .get("x")]).refusal == nil)
    }
}
