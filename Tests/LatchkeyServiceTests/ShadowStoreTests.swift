import LatchkeyStore
import LatchkeyStrategies
import Testing

@testable import LatchkeyService

/// The sampler, and the content of a shadow store.
struct ShadowStoreTests {
    private static let slotNanoseconds: UInt64 = 1 << ShadowSampler.slotShift

    @Test(arguments: [1, 2, 16, 1000])
    func `one slot in so many is drawn, for any seed`(interval: Int) {
        for seed in [0, 1, UInt64.max / 3] {
            let sampler = ShadowSampler(interval: interval, seed: seed)
            let slotCount = 200 * interval
            let drawn = (0..<slotCount).count { slot in
                sampler.draw(at: UInt64(slot) * Self.slotNanoseconds) != nil
            }
            // Binomial with a mean of 200: five standard deviations are 71.
            #expect(abs(drawn - 200) < 71 || interval == 1 && drawn == slotCount)
        }
    }

    @Test func `all moments of a slot are drawn, or none`() {
        let sampler = ShadowSampler(interval: 3, seed: 7)
        for slot in 0..<50 as Range<UInt64> {
            let start = slot * Self.slotNanoseconds
            let first = sampler.draw(at: start)
            #expect(sampler.draw(at: start + Self.slotNanoseconds / 2) == first)
            #expect(sampler.draw(at: start + Self.slotNanoseconds - 1) == first)
        }
    }

    @Test func `drawn slots come in no rhythm, and begin with every shadow`() {
        let sampler = ShadowSampler(interval: 4, seed: 99)
        let slots = (0..<4000 as Range<UInt64>).filter {
            sampler.draw(at: $0 * Self.slotNanoseconds) != nil
        }
        let gaps = zip(slots, slots.dropFirst()).map { $1 - $0 }
        #expect(Set(gaps).count > 8)
        let firsts = slots.compactMap { sampler.draw(at: $0 * Self.slotNanoseconds) }.map {
            $0 % 14
        }
        #expect(Set(firsts).count == 14)
    }

    private static func name(_ text: String) throws -> PropertyName {
        let owner = OwnedBytes(Array(text.utf8))
        return try unsafe PropertyName(borrowing: owner.bytes, owner: owner)
    }

    private static func put(_ text: String, value: String? = nil) throws -> Change {
        let owner = OwnedBytes(Array((value ?? text).utf8))
        let change = unsafe Change.put(try name(text), value: owner.bytes)
        return withExtendedLifetime(owner) { change.unconditionalCopy() }
    }

    private static func store() -> PropertyStore<LockStrategy> {
        PropertyStore(limits: StoreLimits(), stripeCount: 4, strategy: { LockStrategy() })
    }

    @Test func `a shadow holds what the operations leave`() throws {
        let store = Self.store()
        let shadow = ShadowStore(
            store,
            servingUsage: { store.usage },
            stripeCount: 4,
            backlogMax: 1,
            refusals: RefusalCount()
        )
        for text in ["1", "2", "3"] {
            shadow.commit(try Self.put(text))
        }
        shadow.commit(.delete(try Self.name("2")))
        shadow.commit(.increment(try Self.name("3"), by: 4))
        shadow.commit(.increment(try Self.name("4"), by: 5))
        #expect(store.usage.propertyCount == 3)
        #expect(store.usage.revision == 6)
        try store.look(try Self.name("3")) { found in
            #expect(found.map { unsafe Array($0.valueBytes) } == Array("7".utf8))
        }
    }

    @Test func `a shadow makes a change of several properties, and then does not grow either`()
        throws
    {
        let (store, shadow) = Self.shadowOfNothing()
        var most = 0
        for number in 0..<1000 {
            let others = try (1..<5).flatMap { try Self.put("p\(number)/\($0)").steps }
            let steps = try Self.put("first").steps + others
            shadow.commit(.transaction(Transaction(steps)))
            most = max(most, store.usage.propertyCount)
            #expect(store.usage.propertyCount >= 5)
        }
        #expect(most > 4 * 64)
        // Once it is full, all stripes that a change goes to are emptied first.
        #expect(most < 2 * 4 * 64)
    }

    @Test func `a shadow that missed the deletions does not grow without end`() throws {
        let (store, shadow) = Self.shadowOfNothing()
        var most = 0
        for number in 0..<5000 {
            shadow.commit(try Self.put("p\(number)"))
            most = max(most, store.usage.propertyCount)
        }
        // Once it is full, each stripe takes one more before it is emptied.
        #expect(most <= 4 * 64 + 4)
        #expect(store.usage.byteCount <= most * 2 * "p5000".utf8.count)
        #expect(store.usage.propertyCount > 0)
    }

    @Test func `nor does it grow without end in bytes`() throws {
        let (store, shadow) = Self.shadowOfNothing()
        let value = String(repeating: "v", count: 100_000)
        var most = 0
        for number in 0..<100 {
            shadow.commit(try Self.put("p\(number)", value: value))
            most = max(most, store.usage.byteCount)
        }
        #expect(most > 100_000)
        // Once it is full, each stripe takes one more before it is emptied.
        #expect(most <= 4 * (64 << 10) + 4 * 100_010)
    }

    /// A shadow of a store that deletes each property at once, without the deletes.
    private static func shadowOfNothing()
        -> (PropertyStore<LockStrategy>, ShadowStore<LockStrategy>)
    {
        let (store, serving) = (store(), store())
        let shadow = ShadowStore(
            store,
            servingUsage: { serving.usage },
            stripeCount: 4,
            backlogMax: 1,
            refusals: RefusalCount()
        )
        return (store, shadow)
    }
}
