import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Steps that take a prefix, and times to live that start again.
@Suite(.timeLimit(.minutes(15)))
struct PrefixStepTests {
    private let store = BlockingStore(stripeCount: 4)

    /// The expected properties: a value, and when it expires.
    private struct Model {
        struct Entry: Equatable {
            var value: String
            var expiry: Int64
        }

        var entries: [String: Entry] = [:]

        /// Removes expired properties, and returns their names.
        mutating func expire(_ time: Int64) -> [String] {
            defer { entries = entries.filter { $0.value.expiry > time } }
            return entries.filter { $0.value.expiry <= time }.map(\.key)
        }

        private func names(_ prefix: String) -> [String] {
            entries.keys.filter { $0.hasPrefix(prefix) }.sorted()
        }

        /// Takes a step; the text is its result.
        mutating func take(_ step: Step, _ time: Int64) -> String {
            switch step {
            case .put(let name, let value):
                entries[name] = Entry(value: value, expiry: .max)
                return "put"
            case .delete(let name):
                entries[name] = nil
                return "delete"
            case .pop(let prefix):
                guard let first = names(prefix).first else { return "none" }
                return "\(first) \(entries.removeValue(forKey: first)?.value ?? "")"
            case .claim(let prefix, let ttl):
                for name in names(prefix) {
                    let claim = "claims/" + name.dropFirst(prefix.count)
                    guard entries[claim] == nil else { continue }
                    entries[claim] = Entry(value: "null", expiry: time + ttl)
                    return "\(name) \(entries[name]?.value ?? "")"
                }
                return "none"
            case .deletePrefix(let prefix, let countMax):
                let names = names(prefix).prefix(countMax)
                for name in names { entries[name] = nil }
                return "\(names.count)"
            case .count(let prefix): return "\(names(prefix).count)"
            }
        }
    }

    private enum Step {
        case put(String, String)
        case delete(String)
        case pop(String)
        case claim(String, Int64)
        case deletePrefix(String, Int)
        case count(String)

        init(_ random: inout SeededGenerator) {
            let name =
                "j\(Int.random(in: 1...3, using: &random))/"
                + "\(Int.random(in: 0..<9, using: &random))"
            let prefix = ["j", "j1/", "j2/", "j3/4", "claims/", "x"].randomElement(using: &random)
            let wanted = prefix ?? ""
            switch Int.random(in: 0..<9, using: &random) {
            case 0, 1: self = .put(name, "\(Int.random(in: 0..<99, using: &random))")
            case 2: self = .delete(name)
            case 3: self = .pop(wanted)
            case 4,
                5 where wanted.hasPrefix("j"):
                self = .claim(wanted, 5)
            case 6: self = .deletePrefix(wanted, Int.random(in: 1...3, using: &random))
            default: self = .count(wanted)
            }
        }

        var step: Change.Step {
            switch self {
            case .put(let name, let value): .put(name, value)
            case .delete(let name): .delete(name)
            case .pop(let prefix): .pop(prefix)
            case .claim(let prefix, let ttl): .claim(prefix, "claims/", ttl: ttl)
            case .deletePrefix(let prefix, let countMax):
                .deletePrefix(prefix, countMax: countMax, isWhole: false)
            case .count(let prefix): .count(prefix)
            }
        }

        func text(_ result: Transaction.Result) -> String {
            switch self {
            case .put: return "put"
            case .delete: return "delete"
            case .pop, .claim:
                guard let property = result.property else { return "none" }
                let value = unsafe String(decoding: property.valueBytes, as: UTF8.self)
                return "\(PropertyName(of: property).text) \(value)"
            case .deletePrefix, .count: return "\(result.count)"
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64], [1, 16])
    func `transactions do what a model does, step by step`(seed: UInt64, stripeCount: Int) throws {
        let store = BlockingStore(stripeCount: stripeCount)
        var random = SeededGenerator(seed)
        var model = Model()
        for round in 0..<2000 {
            let time = Int64(round)
            for (name, revision) in model.expire(time).compactMap(store.stored) {
                // An expired time hides its property until a commit removes it.
                let expiry = Change.expire(name, at: revision)
                _ = try store.execute(expiry, at: Timestamp(milliseconds: time)).get()
            }
            let steps = (0..<Int.random(in: 1...6, using: &random)).map { _ in Step(&random) }
            let expected = steps.map { model.take($0, time) }
            let change = Change.transaction(Transaction(steps.map(\.step)))
            let commit = try store.execute(change, at: Timestamp(milliseconds: time)).get()
            let results = try #require(commit.outcome).results
            #expect(zip(steps, results).map { $0.text($1) } == expected, "round \(round): \(steps)")
            let counting = Change.transaction(Transaction([.count("j"), .count("claims/")]))
            let counted = try store.execute(counting, at: Timestamp(milliseconds: time)).get()
            #expect(
                counted.outcome?.results.reduce(0) { $0 + $1.count } == model.entries.count
            )
        }
    }

    @Test func `a time to live starts again without a revision of the property`() throws {
        let bench = JournaledBench()
        defer { withExtendedLifetime(bench) {} }
        let store = bench.store
        _ = store.commit([.put("a", "7", ttl: 100_000)])
        let before = try #require(store.property("a"))
        let commit = try store.commit([.touch("a", ttl: 500_000)]).get()
        #expect(commit.revision == 2)
        #expect(commit.first?.reason == .touched)
        #expect(commit.first?.isCreation == false)
        #expect(commit.first?.isEvent == false)
        let after = try #require(store.property("a"))
        #expect([after.revision, after.created] == [before.revision, before.created])
        #expect(after.expiry.milliseconds == before.expiry.milliseconds + 400_000)
        #expect(store.value("a") == "7")
        // A transaction that also changes the value is an event.
        let steps: [Change.Step] = [.touch("a", ttl: 100), .increment("a"), .touch("a", ttl: 900)]
        let third = try store.commit(steps).get()
        #expect(third.first?.reason == .requested)
        #expect(third.outcome?.results.map(\.revision) == [1, 3, 3])
        #expect(store.property("a")?.revision == 3)
    }

    @Test func `a property that is missing, or not as demanded, is not touched`() {
        func refusal(_ steps: Change.Step...) -> Refusal? { store.commit(steps).refusal }
        #expect(refusal(.touch("a", ttl: 9)) == .missing)
        #expect(refusal(.put("b", "1"), .touch("a", ttl: 9)) == .step(1, .then, .missing))
        #expect(refusal(.touch("a", ttl: 9, Conditions(ifMatch: .any))) == .missing)
        #expect(refusal(.put("a", "1", ttl: 10)) == nil)
        let conditions = Conditions(ifMatch: .oneOf([9]))
        #expect(refusal(.touch("a", ttl: 9, conditions)) == .preconditionFailed)
        #expect(store.value("b") == nil)
    }

    @Test func `a time to live for new properties leaves the one that is there`() throws {
        func increment(at time: Int64) throws -> String {
            let action = Change.Action.increment(by: 1)
            let step = Change.Step(.owning("a"), action, ttl: 100, isOnlyIfNew: true)
            let now = Timestamp(milliseconds: time)
            let commit = try store.execute(.step(step), at: now).get()
            let property = try #require(commit.first?.property)
            return "\(store.text(property)) \(property.expiry.milliseconds)"
        }
        #expect(try increment(at: 1000) == "1 1100")
        #expect(try increment(at: 1050) == "2 1100")
        #expect(try increment(at: 1099) == "3 1100")
        #expect(try increment(at: 1100) == "1 1200")
        // The others, too; and a property without time stays without one.
        let put = Change.Step.put("b", "1")
        let onlyIfNew = Change.Step(put.name, put.action, ttl: 100, isOnlyIfNew: true)
        for (step, expiry) in [(put, Timestamp.never), (onlyIfNew, Timestamp.never)] {
            _ = store.execute(.step(step), at: Timestamp(milliseconds: 1))
            #expect(store.property("b")?.expiry == expiry)
        }
    }

    @Test func `more than a step may delete is refused as a whole`() throws {
        for number in 0..<5 { _ = store.commit(Change(.put("a/\(number)", "1"))) }
        let whole: [Change.Step] = [.put("b", "1"), .deletePrefix("a/", countMax: 4)]
        #expect(store.commit(whole).refusal == .step(1, .then, .transactionTooLarge))
        #expect(store.value("b") == nil)
        let part: [Change.Step] = [
            .deletePrefix("a/", countMax: 4, isWhole: false), .deletePrefix("a/", countMax: 1),
        ]
        let results = try #require(try store.commit(part).get().outcome).results
        #expect(results.map(\.count) == [4, 1])
        #expect(results.map(\.hasMore) == [true, false])
    }

    @Test func `a claim whose name is too long refuses the step`() {
        let long = "a" + String(repeating: "x", count: 255)
        _ = store.commit(Change(.put(long, "1")))
        let steps: [Change.Step] = [.get("b"), .claim("a", "cc", ttl: 10)]
        #expect(store.commit(steps).refusal == .step(1, .then, .claimNameTooLong))
    }

    @Test func `a transaction that waits is refused as long as it cannot be made`() throws {
        func decide(_ transaction: Transaction) -> Decision {
            var transaction = transaction
            transaction.waits = true
            return store.commit(.transaction(transaction))
        }
        let exists = Transaction.Condition(.owning("a"), .exists(true))
        let conditional = Transaction(if: [exists], [.put("b", "1")], else: [.put("c", "1")])
        let popping = Transaction([.put("d", "1"), .pop("jobs/")])
        for transaction in [conditional, popping] {
            #expect(decide(transaction).refusal == .notYet)
        }
        #expect(store.base.usage.propertyCount == 0)
        _ = store.commit(Change(.put("a", "1")))
        _ = store.commit(Change(.put("jobs/1", "1")))
        #expect(try decide(conditional).get().outcome?.succeeded == true)
        #expect(try decide(popping).get().outcome?.results.count == 2)
        #expect(store.value("c") == nil)
        #expect(store.value("jobs/1") == nil)
        #expect(decide(popping).refusal == .notYet)
    }
}

extension BlockingStore {
    /// A property, also if its time is over.
    func storedProperty(_ name: String) -> Property? {
        wait { (completion) throws(BacklogFull) in
            let name = PropertyName.owning(name)
            try base.look(name, in: .stored, .here(), completion: completion)
        }
    }

    func stored(_ name: String) -> (PropertyName, Revision)? {
        storedProperty(name).map { (PropertyName(of: $0), $0.revision) }
    }
}
