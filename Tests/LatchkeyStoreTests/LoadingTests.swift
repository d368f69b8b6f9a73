import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Stores that go on from the state of an earlier one.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct LoadingTests {
    @Test(arguments: Depth.kinds, [1, 8])
    func `a store that is loaded and replayed equals the one that made the commits`(
        kind: StrategyKind,
        stripeCount: Int
    ) {
        Restarting(stripeCount: stripeCount).run(kind)
    }

    @Test func `properties of later revisions can be loaded before what is replayed`() {
        let store = BlockingStore(
            stripeCount: 2,
            hook: CommitHook { _, _ in }
        )
        let (early, late) = (stored("a", "1", revision: 1), stored("a", "22", revision: 2))
        store.load([early])
        store.load([late])
        #expect(store.base.usage == StoreUsage(revision: 0, propertyCount: 1, byteCount: 3))
        let commits = store.replay([
            StoredCommit(revision: 1, [("a", early)]),
            StoredCommit(revision: 2, [("a", late)]),
            StoredCommit(revision: 3, [("b", nil)]),
            StoredCommit(revision: 4, [("a", nil)]),
        ])
        #expect(commits.map(\.revision) == [1, 2, 3, 4])
        #expect(commits.map(\.effects.count) == [1, 1, 0, 1])
        #expect(store.base.usage == StoreUsage(revision: 4, propertyCount: 0, byteCount: 0))
    }

    @Test func `a commit out of order in what is replayed stops the process`() async {
        await #expect(processExitsWith: .failure) {
            let store = BlockingStore(
                stripeCount: 2,
                hook: CommitHook { _, _ in }
            )
            _ = store.replay([StoredCommit(revision: 2, []), StoredCommit(revision: 2, [])])
        }
    }

    @Test func `a journal goes on after a restart, and 0 names the first start`() {
        let journal = Journal(HistoryLimits(), after: 70, start: 50)
        #expect(journal.last == 70 && journal.oldest == 70)
        #expect(journal.named(0) == 50)
        guard case .gone = journal.commits(after: journal.named(0), countMax: 10) else {
            Issue.record("the commits between 50 and 70 are not there")
            return
        }
    }

    @Test func `loaded properties expire`() {
        let hook = ReleasingHook()
        let bench = HookedBench(hook.hook, after: 3)
        BlockingStore(bench.base).load([
            stored("a", "1", revision: 1, expiry: 5), stored("b", "1", revision: 2),
        ])
        bench.expiries.look()
        bench.clock.advance(5)
        #expect(bench.journal.wait(for: 4))
        #expect(bench.store.value("b") == "1")
        #expect(bench.base.usage.propertyCount == 1)
        #expect(bench.expiries.count == 1)
    }
}

/// A store makes commits; another one begins with a part of them loaded, and replays the others.
private struct Restarting {
    private static let limits = StoreLimits.quotas(["n": .max, "n1": .max, "n20": .max])

    let stripeCount: Int

    func run(_ kind: StrategyKind) {
        let start: Revision = 1 << 40
        let source = BlockingStore(kind, stripeCount: 4, limits: Self.limits, after: start)
        var random = SeededGenerator(20)
        var commits: [Commit] = []
        func change(_ count: Int) {
            for index in 0..<count {
                let names = (0..<2).map { _ in "n\(Int.random(in: 0..<30, using: &random))" }
                let steps: [Change.Step] =
                    index % 5 == 0
                    ? [.delete(names[0])]
                    : index % 3 == 0
                        ? [.put(names[0], "\(index)"), .delete(names[1])] : [.increment(names[0])]
                if case .success(let commit) = source.commit(steps), !commit.isEmpty {
                    commits.append(commit)
                }
            }
        }
        change(200)
        let loaded = source.list(limit: 1000)
        let loadedCount = commits.count
        change(200)

        let hook = CommitHook { _, _ in }
        let store = BlockingStore(
            kind,
            stripeCount: stripeCount,
            limits: Self.limits,
            after: loaded.revision,
            hook: hook
        )
        store.load(Array(loaded.properties.prefix(7)))
        store.load(Array(loaded.properties.dropFirst(7)))
        let rest = commits.dropFirst(loadedCount).map(StoredCommit.init)
        let replayed =
            store.replay(Array(rest.prefix(50))) + store.replay(Array(rest.dropFirst(50)))
        #expect(store.base.usage == source.base.usage)
        #expect(store.base.quotaUsage == source.base.quotaUsage)
        #expect(store.digest() == source.digest())
        #expect(store.list(limit: 1000).revision == source.list(limit: 1000).revision)
        for (found, expected) in zip(replayed, commits.dropFirst(loadedCount)) {
            #expect(found.revision == expected.revision && found.time == expected.time)
            #expect(
                found.effects.map { "\($0.former?.digest ?? 0) \($0.property?.digest ?? 0)" }
                    == expected.effects.map {
                        "\($0.former?.digest ?? 0) \($0.property?.digest ?? 0)"
                    }
            )
            #expect(found.effects.map(\.reason) == expected.effects.map(\.reason))
        }
        #expect(hook.unreleased == (0, 0))
    }
}

/// A hook that releases commits as soon as it has all before them.
final class ReleasingHook: Sendable {
    let hook: CommitHook
    private let own: Synchronized<CommitHook?, LockStrategy>

    init() {
        let own = Synchronized<CommitHook?, LockStrategy>(nil)
        hook = CommitHook { commit, _ in
            own.read { $0 }?.release(through: commit.revision)
        }
        own.write { [hook] in $0 = hook }
        self.own = own
    }

    deinit {
        own.write { $0 = nil }
    }
}

func stored(
    _ name: String,
    _ value: String,
    revision: Revision,
    expiry: Int64 = Timestamp.never.milliseconds
) -> Property {
    let bytes = OwnedBytes(Array(value.utf8))
    return unsafe Property(
        name: .owning(name),
        value: bytes.bytes,
        revision: revision,
        created: revision,
        expiry: Timestamp(milliseconds: expiry)
    )
}

extension StoredCommit {
    fileprivate init(revision: Revision, _ effects: [(String, Property?)]) {
        self.init(
            revision: revision,
            time: Timestamp(milliseconds: 0),
            effects: effects.map {
                StoredEffect(name: .owning($0), property: $1, reason: .requested)
            }
        )
    }

    /// A commit as a file has it: with properties of its own.
    fileprivate init(_ commit: Commit) {
        self.init(
            revision: commit.revision,
            time: commit.time,
            effects: commit.effects.map { effect in
                let name = PropertyName(of: effect.some).copy()
                let property = effect.property.map {
                    unsafe Property(
                        name: name,
                        value: $0.valueBytes,
                        revision: $0.revision,
                        created: $0.created,
                        expiry: $0.expiry
                    )
                }
                return StoredEffect(name: name, property: property, reason: effect.reason)
            }
        )
    }
}

extension BlockingStore {
    fileprivate func load(_ properties: [Property]) {
        let _: Bool = wait { completion in base.load(properties) { completion(true) } }
    }

    fileprivate func replay(_ commits: [StoredCommit]) -> [Commit] {
        wait { base.replay(commits, completion: $0) }
    }
}
