import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Pops with claims after many claimed names.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ClaimQueueTests {
    private typealias Store = BlockingStore

    private static func store(
        passedCountMax: Int = 128,
        stripeCount: Int = 8
    ) -> Store {
        var limits = StoreLimits()
        limits.passedCountMax = passedCountMax
        return Store(stripeCount: stripeCount, limits: limits)
    }

    private static let pop = Change.Step.claim("j/", "c/", ttl: 1000)

    private static func popped(_ decision: Decision) -> [String]? {
        try? decision.get().outcome?.results.compactMap { result in
            result.property.map { PropertyName(of: $0).text }
        }
    }

    /// Each began at the first name: 17 ms after 60,000 claims, and 422 beyond, issue 46.
    @Test func `a pop after many claims looks at each name once`() {
        let store = Self.store()
        let count = 1500
        for number in 0..<count { _ = store.commit(Change(.put("j/\(number + 10_000)", "1"))) }
        for number in 0..<count {
            let decision = store.commit(.transaction(Transaction([Self.pop])))
            #expect(Self.popped(decision) == ["j/\(number + 10_000)"])
        }
        #expect(store.base.context.claims.passedCount == count)
        #expect(store.base.usage.workUnits == 513 * UInt64(count), "whatever is claimed")
        // A name that is free again is found without a look at the others.
        _ = store.commit(Change(.delete("c/10007")))
        _ = store.commit(Change(.put("j/00000", "1")))
        for name in ["j/00000", "j/10007"] {
            #expect(Self.popped(store.commit(.transaction(Transaction([Self.pop])))) == [name])
        }
        #expect(Self.popped(store.commit(.transaction(Transaction([Self.pop])))) == [])
        #expect(store.base.context.claims.passedCount == count)
    }

    @Test func `unknown names are passed before, and the stripes are given back in between`() {
        let store = Self.store(passedCountMax: 10)
        for number in 10..<99 {
            _ = store.commit([.put("j/\(number)", "1"), .put("c/\(number)", "1")])
        }
        _ = store.commit(Change(.put("j/99", "1")))
        let claims = store.base.context.claims
        #expect(Self.popped(store.commit(.transaction(Transaction([Self.pop])))) == ["j/99"])
        #expect(claims.passedCount == 90)
        // More names are free than are remembered.
        _ = store.commit([.get("x"), .deletePrefix("c/")])
        for number in 10..<99 {
            let decision = store.commit(.transaction(Transaction([Self.pop])))
            #expect(Self.popped(decision) == ["j/\(number)"])
        }
        #expect(claims.passedCount < 400)
    }

    /// Each pair had a queue of its own, and was looked through if nothing was decided, issue 46.
    @Test func `pairs that claim alike share what is known, in any order`() {
        let store = Self.store(passedCountMax: 4)
        for number in 10..<99 {
            _ = store.commit([.put("j/\(number)", "1"), .put("c/\(number)", "1")])
        }
        _ = store.commit(Change(.put("j/99", "1")))
        let claims = store.base.context.claims
        func pop(_ rest: String) -> [String]? {
            Self.popped(store.commit([.get("x"), .claim("j/" + rest, "c/" + rest, ttl: 1000)]))
        }
        let missing = Transaction.Condition(.owning("none"), .exists(true))
        _ = store.commit(.transaction(Transaction(if: [missing], [Self.pop])))
        #expect(claims.passedCount == 0, "only a pop that is made looks")
        #expect(pop("5") == [])
        #expect(claims.passedCount == 10)
        #expect(pop("7") == [])
        #expect(pop("") == ["j/99"])
        #expect(claims.passedCount == 90)
        for rest in ["1", "5", "55", "", "9"] { #expect(pop(rest) == []) }
        #expect(claims.passedCount == 90)
        _ = store.commit(Change(.delete("c/55")))
        #expect(pop("6") == [])
        #expect(pop("5") == ["j/55"])
        // A pair without many claims is not remembered, and drops no other one.
        for number in 0..<300 {
            _ = store.commit([.get("x"), .claim("x\(number)", "y", ttl: 1000)])
        }
        #expect(pop("") == [])
        #expect(claims.passedCount == 90)
    }

    @Test func `a change has a few pairs at most`() {
        let store = Self.store()
        func pops(_ count: Int) -> [Change.Step] {
            (0..<count).map { .claim("j\($0)", "c", ttl: 1) }
        }
        #expect(store.commit(pops(8) + [.get("x")]).refusal == nil)
        #expect(store.commit(pops(9)).refusal == .transactionTooLarge)
        let missing = Transaction.Condition(.owning("none"), .exists(true))
        let both = Transaction(if: [missing], pops(8), else: [.claim("k", "c", ttl: 1)])
        #expect(store.commit(.transaction(both)).refusal == .transactionTooLarge)
        store.base.rules = .first
        #expect(store.commit(pops(9)).refusal == nil)
    }

    /// 30,000 of them took 83 ms for 65 units, issue 46.
    @Test func `names whose time is over are passed some at a time, too`() {
        let store = Self.store(passedCountMax: 10)
        for number in 100..<400 {
            let put = Change.Step.put("j/\(number)", "1", ttl: 5)
            _ = store.execute(Change(put), at: Timestamp(milliseconds: 0))
        }
        _ = store.commit(Change(.put("j/400", "1")))
        let claims = store.base.context.claims
        let pair = ClaimPair(prefix: .owning("j/"), claim: .owning("c/"))
        func isPassing() -> Bool {
            store.wait { completion in
                store.base.stripes.submitRead(
                    several: store.base.allTables,
                    .here(),
                    { lend in
                        var tables: [PropertyTable] = []
                        lend { tables.append($0) }
                        let time = Timestamp(milliseconds: 9)
                        let found = claims.firstFree(pair, tables, at: time) { _ in true }
                        guard case .unknown = found else { return false }
                        return true
                    },
                    completion: completion
                )
            }
        }
        for piece in 1...10 {
            #expect(isPassing())
            #expect(claims.passedCount == 10 * piece)
        }
        let change = Change.transaction(Transaction([Self.pop]))
        #expect(Self.popped(store.execute(change, at: Timestamp(milliseconds: 9))) == ["j/400"])
        #expect(claims.passedCount == 301)
    }

    /// After the first pop with a claim, each change entered the lock of the queues, issue 46.
    @Test func `only names of a pair that is remembered are noted`() {
        let store = Self.store(passedCountMax: 10)
        func watched() -> [Int] {
            store.wait { completion in
                store.base.stripes.submitRead(
                    several: store.base.allTables,
                    .here(),
                    { lend in
                        var counts: [Int] = []
                        lend { counts.append($0.claimPairs.all.count) }
                        return counts
                    },
                    completion: completion
                )
            }
        }
        _ = store.commit([.get("x"), .claim("j/", "c/", ttl: 1000)])
        #expect(watched() == Array(repeating: 0, count: 8))
        for number in 10..<30 {
            _ = store.commit([.put("j/\(number)", "1"), .put("c/\(number)", "1")])
        }
        #expect(Self.popped(store.commit([.get("x"), Self.pop])) == [])
        #expect(watched() == Array(repeating: 1, count: 8))
        let pairs = ClaimPairs(
            all: [ClaimPair(prefix: .owning("j/"), claim: .owning("c/"))]
        )
        #expect(pairs.concern(.owning("j/1")) && pairs.concern(.owning("c/1")))
        #expect(!pairs.concern(.owning("j")) && !pairs.concern(.owning("jobs")))
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

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64], [3, 128])
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
                let rest = ["", "", "1", "2", "25"].randomElement(using: &random) ?? ""
                let claim = Change.Step.claim("j/" + rest, "c/" + rest, ttl: 25)
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
                let first = live.filter { $0.hasPrefix(step.name.text) }.sorted().first {
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
