import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The same changes in the same order make the same store under every strategy.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct DeterminismTests {
    @Test(arguments: Depth.draws)
    func `the same changes make the same revisions, answers and hash, with any number of stripes`(
        kind: StrategyKind,
        seed: UInt64
    ) {
        let expected = Execution(seed: seed, stripeCount: 1).run(.lock)
        let stripeCount = [4, 16, 64][Int(seed % 3)]
        let found = Execution(seed: seed, stripeCount: stripeCount).run(kind)
        #expect(found.answers == expected.answers)
        #expect(found.digest == expected.digest)
        #expect(found.digest == found.digestOfApplied, "commits applied without deciding")
        #expect(Set(expected.answers.map { $0.prefix(4) }).count >= 5, "all kinds of answers")
        #expect(expected.answers.contains { $0.contains("transactionTooLarge") })
    }

    @Test func `the hash tells stores apart`() {
        func digest(_ changes: [Change]) -> UInt64 {
            let store = BlockingStore(stripeCount: 4)
            for change in changes { _ = store.commit(change) }
            return store.digest()
        }
        let changes: [[Change]] = [
            [], [Change(.put("a", "1"))], [Change(.put("a", "2"))], [Change(.put("b", "1"))],
            [Change(.put("a1", "1"))], [Change(.put("a", "11"))],
            [Change(.put("a", "1")), Change(.put("a", "1"))],
            [Change(.put("a", "1")), Change(.delete("a"))],
            [Change(.put("a", "1")), Change(.delete("a")), Change(.put("a", "1"))],
            [Change(.put("a", "1")), Change(.put("a", "1")), Change(.put("a", "1"))],
        ]
        #expect(Set(changes.map(digest)).count == changes.count)
    }
}

/// Executes changes that follow from the seed, and applies their commits to a second store.
private struct Execution {
    struct Result: Sendable {
        var answers: [String] = []
        var digest: UInt64 = 0
        var digestOfApplied: UInt64 = 0
    }

    let seed: UInt64
    let stripeCount: Int

    func run(_ kind: StrategyKind) -> Result {
        var limits = StoreLimits(propertyCountMax: 30, byteCountMax: 250)
        limits.changeUnitsMax = 300
        let store = BlockingStore(kind, stripeCount: stripeCount, limits: limits)
        let applied = BlockingStore(kind, stripeCount: stripeCount, limits: limits)
        var random = SeededGenerator(seed)
        var result = Result()
        for number in 0..<1500 {
            var change = Self.change(&random)
            if number % 2 == 0, let decoded = try? Change(decoding: change.encoded()) {
                change = decoded
            }
            let decision = store.execute(change, at: Timestamp(milliseconds: Int64(number)))
            result.answers.append(Self.text(decision))
            if case .success(let commit) = decision, !commit.isEmpty {
                applied.apply(commit)
            }
        }
        result.digest = store.digest()
        result.digestOfApplied = applied.digest()
        #expect(applied.base.usage == store.base.usage)
        return result
    }

    private static func change(_ random: inout SeededGenerator) -> Change {
        let name = "n\(Int.random(in: 0..<45, using: &random))"
        var conditions = Conditions.none
        switch Int.random(in: 0..<8, using: &random) {
        case 0: conditions.ifMatch = .any
        case 1: conditions.ifNoneMatch = .any
        case 2:
            let revision = Revision.random(in: 1...900, using: &random)
            conditions.ifNoneMatch = .oneOf([revision, revision + 1])
        case 3 where Bool.random(using: &random): conditions.ifMatch = .oneOf(Array(1...400))
        default: break
        }
        let number = Int64.random(in: -5...5, using: &random)
        switch Int.random(in: 0..<13, using: &random) {
        case 10: return Change(.touch(name, ttl: 60, conditions))
        case 11:
            let isOnlyIfNew = Bool.random(using: &random)
            let action = Change.Action.increment(by: number)
            return Change(Change.Step(.owning(name), action, ttl: 40, isOnlyIfNew: isOnlyIfNew))
        case 12: return prefixes(name, &random)
        case 0..<4:
            let value = Bool.random(using: &random) ? "\(number)" : "\"text \(number)\""
            return Change(.put(name, value, conditions))
        case 4..<6:
            return Change(.delete(name, conditions))
        case 6..<9:
            let by = number == 5 ? Int64.max : number
            return Change(.increment(name, by: by, conditions))
        default:
            let names = (0..<4).map { _ in "n\(Int.random(in: 0..<45, using: &random))" }
            let steps: [Change.Step] = [
                .get(name, conditions), .put(names[0], "\(number)"),
                .increment(names[1], by: 7), .increment(names[0], by: number),
                .put(names[2], "null"), .delete(names[Int.random(in: 0..<4, using: &random)]),
            ]
            return Change(Array(steps.prefix(.random(in: 2...6, using: &random))))
        }
    }

    /// A transaction whose steps take prefixes, before and after steps of single properties.
    private static func prefixes(_ name: String, _ random: inout SeededGenerator) -> Change {
        let prefix = ["n", "n1", "n2", "n3", "none"].randomElement(using: &random) ?? ""
        let steps: [Change.Step] = [
            .delete(name), .pop(prefix), .put(name, "1"), .claim(prefix, "claims/", ttl: 30),
            .count(prefix), .touch(name, ttl: 90), .claim(prefix, "claims/", ttl: 30),
            .deletePrefix("claims/n1"), .deletePrefix(prefix, countMax: 2, isWhole: false),
            .pop(prefix), .count("n"),
        ]
        return .transaction(Transaction(steps.filter { _ in Bool.random(using: &random) }))
    }

    private static func text(_ decision: Decision) -> String {
        switch decision {
        case .failure(let refusal):
            return "\(refusal)"
        case .success(let commit):
            let effects = commit.effects.map { effect in
                let properties = [effect.former, effect.property].map { property in
                    property.map {
                        unsafe "\(String(decoding: $0.valueBytes, as: UTF8.self)) \($0.created) "
                            + "\($0.revision) \($0.expiry)"
                    } ?? "-"
                }
                return "\(PropertyName(of: effect.some).text): \(properties)"
            }
            let results = commit.outcome?.results.map { "\($0.revision) \($0.count)" } ?? []
            return "done \(commit.revision) \(commit.time.milliseconds) \(effects) \(results)"
        }
    }
}
