import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Changes of several properties, which lie in several stripes.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct SeveralPropertiesTests {
    @Test(arguments: Depth.kinds)
    func `a reader that has seen a commit sees all of it`(kind: StrategyKind) {
        ReadingBoth().run(kind)
    }

    @Test(arguments: Depth.kinds)
    func `transfers in opposite directions end, and every page shows the same sum`(
        kind: StrategyKind
    ) {
        Transferring().run(kind)
    }

    @Test(arguments: Depth.kinds, [1, 2, 64])
    func `a refused change leaves everything as it was`(kind: StrategyKind, stripeCount: Int) {
        refusing(kind, stripeCount: stripeCount)
    }

    @Test(arguments: Depth.kinds, [1, 2, 64])
    func `a change of several properties is one commit, in one stripe and in many`(
        kind: StrategyKind,
        stripeCount: Int
    ) {
        committing(kind, stripeCount: stripeCount)
    }

    @Test(arguments: Depth.kinds)
    func `concurrent changes of as many properties as there may be have one order`(
        kind: StrategyKind
    ) {
        committingConcurrently(kind)
    }
}

/// Two writers count on names in many stripes, always on all of them.
///
/// Readers read one name and then another one, in both orders: the second is never older.
private struct ReadingBoth {
    private static let names = (0..<40).map { "n\($0)" }

    func run(_ kind: StrategyKind) {
        let store = BlockingStore(kind, stripeCount: 64)
        // Stripes are published in ascending order.
        let names = Self.names.sorted { store.stripe(of: $0) < store.stripe(of: $1) }
        // Where readers enter during a write, the moment that counts is short.
        let rounds = kind.traits.readsDuringWrites ? 1500 : 100
        read(store, names, rounds)
        // With a hook that holds nothing back, readers rely on the tables alone.
        let hook = CommitHook { _, _ in }
        let hooked = BlockingStore(kind, stripeCount: 64, hook: hook)
        hook.begin(after: .max)
        read(hooked, names, rounds)
    }

    private func read(_ store: BlockingStore, _ names: [String], _ rounds: Int) {
        let writers = Arrivals()
        let missed = Arrivals()
        let ended = TestThread.run(4) { thread in
            if thread < 2 {
                let order = thread == 0 ? names : names.reversed()
                for _ in 0..<rounds {
                    _ = store.commit(order.map { .increment($0) })
                }
                writers.arrive()
            } else {
                let pair = thread == 2 ? [0, names.count - 1] : [names.count - 1, 0]
                while writers.value < 2 {
                    let seen = pair.map { store.property(names[$0])?.revision ?? 0 }
                    let revision = store.base.usage.revision
                    let later = store.property(names[pair[0]])?.revision ?? 0
                    if seen[1] < seen[0] || later < revision {
                        missed.arrive()
                    }
                }
            }
        }
        #expect(ended)
        #expect(missed.value == 0, "reads that saw a part of a commit")
        #expect(store.base.usage.revision == Revision(2 * rounds))
        #expect(names.allSatisfy { store.value($0) == "\(2 * rounds)" })
    }
}

/// Threads move amounts between accounts, each in its own direction, while pages are read.
private struct Transferring {
    private static let accountCount = 8

    func run(_ kind: StrategyKind) {
        let store = BlockingStore(kind, stripeCount: 8)
        let accounts = (0..<Self.accountCount).map { "account\($0)" }
        _ = store.commit(accounts.map { .put($0, "100") })
        let writers = Arrivals()
        let torn = Arrivals()
        let ended = TestThread.run(4) { thread in
            if thread < 3 {
                for step in 0..<120 {
                    let from = step % Self.accountCount
                    let to = (from + 1 + step % 3) % Self.accountCount
                    let pair = thread == 1 ? [to, from] : [from, to]
                    let amount = Int64(1 + thread)
                    _ = store.commit([
                        .increment(accounts[pair[0]], by: -amount),
                        .increment(accounts[pair[1]], by: amount),
                    ])
                }
                writers.arrive()
            } else {
                while writers.value < 3 {
                    let page = store.list(limit: 100)
                    let sum = page.properties.compactMap { Int(store.text($0)) }.reduce(0, +)
                    if sum != 100 * Self.accountCount {
                        torn.arrive()
                    }
                }
            }
        }
        #expect(ended)
        #expect(torn.value == 0, "pages that showed a part of a transfer")
        let last = store.list(limit: 100)
        #expect(last.revision == 361)
        #expect(last.properties.compactMap { Int(store.text($0)) }.reduce(0, +) == 800)
    }
}

private func refusing(_ kind: StrategyKind, stripeCount: Int) {
    let limits = StoreLimits(propertyCountMax: 10, byteCountMax: 100)
    let store = BlockingStore(kind, stripeCount: stripeCount, limits: limits)
    let names = (0..<8).map { "n\($0)" }
    _ = store.commit(names.map { .put($0, "1") })
    let all: [Change.Step] = names.map { .increment($0) }
    let large = String(repeating: "1", count: 81)
    let refused: [(Refusal, [Change.Step])] = [
        (
            .step(8, .then, .preconditionFailed),
            all + [.get("n7", Conditions(ifMatch: .oneOf([7])))]
        ),
        (
            .step(8, .then, .preconditionFailed),
            all + [.put("new", "1", Conditions(ifMatch: .any))]
        ),
        (.step(8, .then, .missing), all + [.delete("new", Conditions(ifMatch: .any))]),
        (.step(8, .then, .overflow), all + [.increment("n0", by: .max)]),
        (.step(9, .then, .notAnInteger), all + [.put("n3", "[]"), .increment("n3")]),
        (
            .full(.properties(shortage: nil)),
            all + [.put("x", "1"), .put("y", "1"), .put("z", "1")]
        ),
        (.full(.bytes(shortage: 1)), [.put("n1", "2"), .delete("n2"), .put("n0", large)]),
    ]
    let before = (store.digest(), store.base.usage)
    for (refusal, steps) in refused {
        let decision = store.commit(steps)
        #expect(Outcome(decision) == .refused(refusal))
        #expect((store.digest(), store.base.usage) == before)
    }
    #expect(Outcome(store.commit(all)) == .replaced(2))
    #expect(Outcome(store.commit([.put("x", "1"), .put("y", "1")])) == .created(3))
}

private func committing(_ kind: StrategyKind, stripeCount: Int) {
    let store = BlockingStore(kind, stripeCount: stripeCount)
    store.increment("old")
    store.increment("gone")
    let decision = store.commit([
        .get("old", Conditions(ifMatch: .oneOf([1]))), .put("b", "1"), .put("c", "\"c\""),
        .delete("gone", Conditions(ifMatch: .oneOf([2]))), .increment("b", by: 4),
        .put("passing", "1"), .delete("passing"), .increment("old"),
    ])
    guard case .success(let commit) = decision else {
        Issue.record("\(decision)")
        return
    }
    #expect(commit.revision == 3)
    let effects = commit.effects.map { effect in
        let values = [effect.former, effect.property].map { $0.map(store.text) ?? "-" }
        return "\(PropertyName(of: effect.some).text): \(values.joined(separator: " "))"
    }
    #expect(effects == ["old: 1 2", "b: - 5", "c: - \"c\"", "gone: 1 -"])
    let page = store.list(limit: 10)
    #expect(page.revision == 3)
    #expect(page.properties.map(store.text) == ["5", "\"c\"", "2"])
    #expect(page.properties.map(\.revision) == [3, 3, 3])
    #expect(page.properties.map(\.created) == [3, 3, 1])
    // A commit without effects takes no revision.
    #expect(Outcome(store.commit([.get("b"), .delete("d")])) == .unchanged(3))
    #expect(store.base.usage.propertyCount == 3)
    #expect(store.base.usage.byteCount == 4 + 4 + 2)
}

/// Each commit names all properties, in an order of its thread's.
private func committingConcurrently(_ kind: StrategyKind) {
    let store = BlockingStore(kind, stripeCount: 128)
    let names = (0..<Change.stepCountMax).map { "n\($0)" }
    let commits = Synchronized<[Commit], LockStrategy>([])
    let ended = TestThread.run(3) { thread in
        let order = thread == 1 ? names.reversed() : names
        for step in 0..<6 {
            let decision = store.commit(order.map { .put($0, "\(thread)\(step)") })
            if case .success(let commit) = decision {
                commits.write { $0.append(commit) }
            }
            store.increment("own \(thread)")
        }
    }
    #expect(ended)
    #expect(store.base.usage.revision == 36)
    #expect(Set(names.map { store.value($0) }).count == 1)
    #expect(Set(names.map { store.property($0)?.revision }).count == 1)
    let all = commits.read { $0.sorted { $0.revision < $1.revision } }
    #expect(all.count == 18)
    #expect(
        zip(all, all.dropFirst()).allSatisfy { former, next in
            Set(next.effects.compactMap { $0.former?.revision }) == [former.revision]
        }
    )
}
