import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyStore

/// Random changes of stores with quotas: the count is that of the store, and no accepted change
/// makes a quota grow beyond its limit.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct QuotaLawTests {
    @Test(arguments: Depth.kinds, [1, 2])
    func `a quota counts what the store has, and refuses only what exceeds it`(
        kind: StrategyKind,
        seed: Int
    ) {
        ChangingOneByOne(seed: UInt64(seed)).run(kind)
    }

    @Test(arguments: Depth.kinds)
    func `no revision exceeds a quota, whatever other threads write`(kind: StrategyKind) {
        ChangingTogether(seed: 21).run(kind)
    }
}

/// Prefixes that contain each other, characters of several bytes, and names without a quota.
private enum QuotaNames {
    static let bounds: KeyValuePairs<String, Int> = [
        "a/": 90, "a/b/": 50, "\u{E9}": 40, "a/b/\u{1F511}": 30, "\u{E9}\u{E9}": 25,
    ]

    static func name(_ random: inout SeededGenerator) -> String {
        let starts = ["a/", "a/b/", "a/b/\u{1F511}", "\u{E9}", "\u{E9}\u{E9}", "z", "a", "\u{EA}"]
        let start = starts[Int.random(in: 0..<starts.count, using: &random)]
        return "\(start)\(Int.random(in: 0..<3, using: &random))"
    }

    static func steps(_ random: inout SeededGenerator, ttl: Bool) -> [Change.Step] {
        let count = Int.random(in: 0..<3, using: &random) == 0 ? 3 : 1
        return (0..<count).map { _ in
            let name = name(&random)
            let expires = ttl && Int.random(in: 0..<4, using: &random) == 0
            switch Int.random(in: 0..<6, using: &random) {
            case 0: return .delete(name)
            case 1: return .increment(name)
            default:
                let digits = Int.random(in: 1...18, using: &random)
                return .put(name, String(repeating: "1", count: digits), ttl: expires ? 3 : nil)
            }
        }
    }
}

private struct ChangingOneByOne {
    let seed: UInt64

    func run(_ kind: StrategyKind) {
        var random = SeededGenerator(seed)
        var limits = StoreLimits.quotas(QuotaNames.bounds)
        limits.propertyCountMax = 12
        limits.eviction = seed % 2 == 0 ? .lru : .refuse
        let bench = JournaledBench(kind, stripeCount: 4, limits: limits)
        var refusalCount: UInt64 = 0
        var before = counts(bench)
        for step in 0..<250 {
            let place = "seed \(seed), step \(step)"
            if Int.random(in: 0..<10, using: &random) == 0 {
                bench.clock.advance(2)
                before = counts(bench)
            }
            let steps = QuotaNames.steps(&random, ttl: true)
            let decision = bench.store.commit(steps)
            let after = counts(bench)
            guard after == bench.base.quotaUsage.byteCounts else {
                Issue.record("\(place): \(bench.base.quotaUsage.byteCounts), not \(after)")
                return
            }
            if let prefix = decision.refusingPrefix {
                refusalCount += 1
                #expect(after == before, "\(place): \(prefix)")
                if steps.count == 1, let content = unsafe steps[0].action.content {
                    let name = steps[0].name
                    let former = bench.store.property(name.text)?.byteCount ?? 0
                    let size = unsafe name.bytes.count + content.count
                    let bound = bench.base.quotaUsage.first { $0.quota.text == prefix }?.quota
                    let wouldBe = (before[prefix] ?? 0) - former + size
                    #expect(wouldBe > bound?.byteCountMax ?? 0, "\(place): \(prefix)")
                }
            }
            for usage in bench.base.quotaUsage {
                let bytes = after[usage.quota.text] ?? 0
                let isKept = bytes <= usage.quota.byteCountMax
                #expect(isKept, "\(place): \(usage.quota.text) has \(bytes)")
            }
            before = after
        }
        let refused = bench.base.quotaUsage.reduce(0) { $0 + $1.refusalCount }
        #expect(refused == refusalCount && refusalCount > 0, "seed \(seed)")
        // Otherwise the timer for the next expiry would go on, as this clock stands still.
        bench.clock.advance(1000)
    }

    /// The bytes that the properties take, once the expired ones are removed.
    private func counts(_ bench: JournaledBench) -> [String: Int] {
        var counts: [String: Int] = [:]
        _ = eventually {
            let page = bench.store.list(limit: 1000)
            counts = bench.base.quotaUsage.recomputed(from: page.properties)
            return counts == bench.base.quotaUsage.byteCounts
        }
        return counts
    }
}

/// Threads that submit several changes at once to a store, and wait between the steps of a commit.
private struct ChangingTogether {
    private static let (threadCount, groupCount, groupSize) = (4, 40, 8)

    let seed: UInt64

    func run(_ kind: StrategyKind) {
        let limits = StoreLimits.quotas(QuotaNames.bounds)
        let store = BlockingStore.pausing(kind, limits, turns: 20)
        let made = Synchronized<[Commit], LockStrategy>([])
        let refused = Atomic<Int>(0)
        let ended = TestThread.run(Self.threadCount) { thread in
            var random = SeededGenerator(seed + UInt64(thread))
            for _ in 0..<Self.groupCount {
                let arrivals = Arrivals()
                for _ in 0..<Self.groupSize {
                    submit(store.base, Change(QuotaNames.steps(&random, ttl: false))) { decision in
                        if case .success(let commit) = decision, !commit.isEmpty {
                            made.write { $0.append(commit) }
                        }
                        if decision.refusingPrefix != nil {
                            refused.wrappingAdd(1, ordering: .relaxed)
                        }
                        arrivals.arrive()
                    }
                }
                #expect(arrivals.wait(for: Self.groupSize))
            }
        }
        #expect(ended)
        let commits = made.read { $0.sorted { $0.revision < $1.revision } }
        #expect(commits.map(\.revision) == Array(1...Revision(commits.count)))
        let usage = store.base.quotaUsage
        #expect(usage.reduce(0) { $0 + $1.refusalCount } == refused.load(ordering: .relaxed))
        #expect(refused.load(ordering: .relaxed) > 0)
        let page = store.list(limit: 1000)
        #expect(usage.byteCounts == usage.recomputed(from: page.properties))
        checkEachRevision(commits, usage.map(\.quota))
    }

    private func submit(
        _ store: some CommittingStore,
        _ change: Change,
        _ completion: @escaping @Sendable (Decision) -> Void
    ) {
        var isSubmitted = false
        while !isSubmitted {
            do {
                try store.commit(change, .here(), completion: completion)
                isSubmitted = true
            } catch {
                Yield.now()
            }
        }
    }

    private func checkEachRevision(_ commits: [Commit], _ quotas: [Quota]) {
        for quota in quotas {
            var used = 0
            for commit in commits {
                for effect in commit.effects
                where unsafe effect.nameBytes.starts(with: quota.prefix) {
                    used += StoreSize(effect.property).byteCount
                    used -= StoreSize(effect.former).byteCount
                }
                guard used <= quota.byteCountMax else {
                    Issue.record("revision \(commit.revision) has \(used) of \(quota.text)")
                    return
                }
            }
        }
    }
}
