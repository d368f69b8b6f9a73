import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Pops with claims behind many claims.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ClaimQueueTests {
    private typealias Store = BlockingStore<PropertyStore<LockStrategy>>

    private static func store(
        passedCountMax: Int = 1000,
        stripeCount: Int = 8
    ) -> Store {
        var limits = StoreLimits()
        limits.passedCountMax = passedCountMax
        return Store(stripeCount: stripeCount, limits: limits) { LockStrategy() }
    }

    private static let pop = Change.Step.claim("j/", "c/", ttl: 1000)

    private static func popped(_ decision: Decision) -> [String]? {
        try? decision.get().outcome?.results.compactMap { result in
            result.property.map { PropertyName(of: $0).text }
        }
    }

    /// Each began at the first name: 17 ms behind 60,000 claims, and 422 beyond, issue 46.
    @Test func `a pop behind many claims looks at each name once`() {
        let store = Self.store()
        let count = 1500
        for number in 0..<count { _ = store.commit(Change(.put("j/\(number + 10_000)", "1"))) }
        for number in 0..<count {
            let decision = store.commit(.transaction(Transaction([Self.pop])))
            #expect(Self.popped(decision) == ["j/\(number + 10_000)"])
        }
        #expect(store.base.context.claims.passedCount == count)
        #expect(store.base.usage.workUnits == 65 * UInt64(count), "whatever is claimed")
        // What is free again is found without a look at the others.
        _ = store.commit(Change(.delete("c/10007")))
        _ = store.commit(Change(.put("j/00000", "1")))
        for name in ["j/00000", "j/10007"] {
            #expect(Self.popped(store.commit(.transaction(Transaction([Self.pop])))) == [name])
        }
        #expect(Self.popped(store.commit(.transaction(Transaction([Self.pop])))) == [])
        #expect(store.base.context.claims.passedCount == count)
    }

    @Test func `what is not known is passed before, and the stripes are given back in between`() {
        let store = Self.store(passedCountMax: 10)
        for number in 10..<99 {
            _ = store.commit([.put("j/\(number)", "1"), .put("c/\(number)", "1")])
        }
        _ = store.commit(Change(.put("j/99", "1")))
        let claims = store.base.context.claims
        #expect(Self.popped(store.commit(.transaction(Transaction([Self.pop])))) == ["j/99"])
        #expect(claims.passedCount == 90)
        // More is free than is remembered.
        _ = store.commit([.get("x"), .deletePrefix("c/")])
        for number in 10..<99 {
            let decision = store.commit(.transaction(Transaction([Self.pop])))
            #expect(Self.popped(decision) == ["j/\(number)"])
        }
        #expect(claims.passedCount < 400)
    }

    @Test func `a claim hides its property until a commit removes it`() throws {
        let store = Self.store()
        _ = store.commit(Change(.put("j/1", "1")))
        func pop(at time: Int64) -> [String]? {
            let change = Change.transaction(Transaction([Self.pop]))
            return Self.popped(store.execute(change, at: Timestamp(milliseconds: time)))
        }
        #expect(pop(at: 0) == ["j/1"])
        #expect(pop(at: 1001) == [])
        let (name, revision) = try #require(store.stored("c/1"))
        _ = store.execute(.expire(name, at: revision), at: Timestamp(milliseconds: 1001))
        #expect(pop(at: 1001) == ["j/1"])
        // By the first rules, its time is enough.
        store.base.rules = .first
        #expect(pop(at: 2000) == [])
        #expect(pop(at: 2001) == ["j/1"])
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64], [3, 1000])
    func `a pop finds what a look at all names finds`(seed: UInt64, passedCountMax: Int) throws {
        let store = Self.store(passedCountMax: passedCountMax)
        var random = SeededGenerator(seed)
        for round in 0..<3000 {
            let time = Timestamp(milliseconds: Int64(round))
            let number = Int.random(in: 10..<40, using: &random)
            let change: Change
            switch Int.random(in: 0..<12, using: &random) {
            case 0, 1: change = Change(.put("j/\(number)", "1"))
            case 2: change = Change(Change.Step.put("j/\(number)", "1", ttl: 20))
            case 3: change = Change(.delete("j/\(number)"))
            case 4: change = Change(.delete("c/\(number)"))
            case 5: change = Change(.put("c/\(number)", "1"))
            case 6: change = Change([.get("x"), .deletePrefix("c/\(number / 10)")])
            case 7: change = Change(.touch("c/\(number)", ttl: 30))
            case 8:
                let name = Bool.random(using: &random) ? "c/\(number)" : "j/\(number)"
                guard let (name, revision) = store.stored(name) else { continue }
                change = .expire(name, at: revision)
            case 9: change = Change([Self.pop, .delete("j/\(number)"), .touch("none", ttl: 1)])
            default:
                let claim = Change.Step.claim("j/", "c/", ttl: 25)
                let steps: [Change.Step] = [
                    .delete("c/\(number)"), claim, .put("j/\(number)", "1"), claim, claim,
                ]
                change = .transaction(
                    Transaction(steps.filter { _ in Bool.random(using: &random) })
                )
            }
            let expected = Self.expected(change, store, time)
            let decision = store.execute(change, at: time)
            if let expected {
                #expect(Self.claimed(change, decision) == expected, "round \(round): \(change)")
            }
        }
    }

    /// The claims that the pops of a transaction make, from all names.
    private static func expected(
        _ change: Change,
        _ store: Store,
        _ time: Timestamp
    ) -> [String]? {
        guard case .transaction(let transaction) = change,
            transaction.steps.allSatisfy({ $0.action.takesPrefix || $0.name.text != "none" })
        else {
            return nil
        }
        var live: Set<String> = []
        var stored: Set<String> = []
        for number in 10..<40 {
            for name in ["j/\(number)", "c/\(number)"] {
                guard let property = store.storedProperty(name) else { continue }
                stored.insert(name)
                if !property.isExpired(at: time) { live.insert(name) }
            }
        }
        var claimed: [String] = []
        for step in transaction.steps {
            switch step.action {
            case .put:
                live.insert(step.name.text)
                stored.insert(step.name.text)
            case .delete where live.contains(step.name.text):
                live.remove(step.name.text)
                stored.remove(step.name.text)
            case .deletePrefix:
                let gone = live.filter { $0.hasPrefix(step.name.text) }
                live.subtract(gone)
                stored.subtract(gone)
            case .pop(.some):
                let first = live.filter { $0.hasPrefix("j/") }.sorted().first {
                    !stored.contains("c/" + $0.dropFirst(2))
                }
                guard let first else { continue }
                claimed.append(first)
                live.insert("c/" + first.dropFirst(2))
                stored.insert("c/" + first.dropFirst(2))
            default: break
            }
        }
        return claimed
    }

    /// The properties that the pops of a transaction have taken.
    private static func claimed(_ change: Change, _ decision: Decision) -> [String] {
        let results = (try? decision.get().outcome?.results) ?? []
        return zip(change.steps, results).compactMap { step, result in
            step.action.takesPrefix ? result.property.map { PropertyName(of: $0).text } : nil
        }
    }
}
