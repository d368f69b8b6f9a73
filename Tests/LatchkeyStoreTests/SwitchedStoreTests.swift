import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyStore

/// A store whose strategy is switched while clients use it.
///
/// Under `snapshot` a commit takes its revision and shows it later, under all others at once: where
/// stripes of both kinds meet, two commits could get one revision.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct SwitchedStoreTests {
    /// An actor has one stripe.
    @Test(arguments: Depth.kinds, Depth.seeds)
    func `no revision is given twice, and what was shown is preceded by all before it`(
        kind: StrategyKind,
        seed: UInt64
    ) {
        SwitchingOften(stripeCount: kind == .actor ? 1 : 8, seed: seed).run(kind)
    }

    @Test func `a switch goes through all strategies, and says from where`() throws {
        let store = BlockingStore(stripeCount: 1)
        for (number, kind) in StrategyKind.allCases.enumerated() {
            let former = store.base.kind
            let report = try store.base.switch(to: kind)
            #expect(report.from == former && report.to == kind && store.base.kind == kind)
            #expect(store.increment("a") == Revision(number + 1))
        }
        #expect(throws: SwitchRefusal.needsOneStripe(.actor, stripeCount: 8)) {
            try BlockingStore(stripeCount: 8).base.switch(to: .actor)
        }
    }
}

/// Writers count names, one alone or several in different stripes, with delays between the steps of
/// their commits, while the store is switched to and from `snapshot`.
private struct SwitchingOften {
    /// A page, a look or an answer says that `shown` was reached, and the name had `seen` then.
    private struct Sight: Hashable, Sendable {
        let shown: Revision
        let name: Int
        let seen: Revision
    }

    private static let (writerCount, switchCount, nameCount) = (3, Depth.count(60, deep: 300), 12)
    /// There are at least this many commits, and switches until then.
    private static let commitCountMin = 200

    let stripeCount: Int
    let seed: UInt64

    func run(_ kind: StrategyKind) {
        let delays = Arrivals()
        let store = BlockingStore(kind, stripeCount: stripeCount) {
            delays.arrive()
            for _ in 0..<delays.value % 7 { Yield.now() }
        }
        let isOver = Atomic<Bool>(false)
        let commitCount = Atomic<Int>(0)
        let commits = Synchronized<[Commit], LockStrategy>([])
        let sights = Synchronized<Set<Sight>, LockStrategy>([])
        let ended = TestThread.run(Self.writerCount + 3) { thread in
            var random = SeededGenerator(seed &* 100 &+ UInt64(thread))
            switch thread {
            case 0: change(store, &random, isOver, commitCount)
            case 1: sights.write { [own = look(store, &random, isOver)] in $0.formUnion(own) }
            case 2: sights.write { [own = list(store, isOver)] in $0.formUnion(own) }
            default:
                let own = write(store, &random, isOver, commitCount)
                commits.write { $0 += own }
            }
        }
        #expect(ended, "seed \(seed)")
        let all = commits.read { $0.sorted { $0.revision < $1.revision } }
        #expect(all.map(\.revision) == Array(1...Revision(all.count)), "seed \(seed)")
        #expect(store.base.usage.revision == Revision(all.count), "seed \(seed)")
        let changed = (0..<Self.nameCount).map { name in
            all.filter { $0.effects.contains { PropertyName(of: $0.some).text == "n\(name)" } }
                .map(\.revision)
        }
        for (name, revisions) in changed.enumerated() {
            let value = revisions.isEmpty ? nil : "\(revisions.count)"
            #expect(store.value("n\(name)") == value, "seed \(seed)")
        }
        let missed = sights.read { $0 }.filter { sight in
            changed[sight.name].contains { $0 <= sight.shown && $0 > sight.seen }
        }
        #expect(missed.isEmpty, "seed \(seed): reads that missed a commit")
    }

    /// Every other time to `snapshot`.
    private func change(
        _ store: BlockingStore,
        _ random: inout SeededGenerator,
        _ isOver: borrowing Atomic<Bool>,
        _ commitCount: borrowing Atomic<Int>
    ) {
        let kinds = StrategyKind.allCases.filter { stripeCount == 1 || $0 != .actor }
        var number = 0
        while number < Self.switchCount
            || commitCount.load(ordering: .relaxed) < Self.commitCountMin
        {
            number += 1
            let other = kinds.randomElement(using: &random) ?? .lock
            do {
                _ = try store.base.switch(to: number % 2 == 0 ? .snapshot : other)
            } catch {
                Issue.record("\(error)")
                break
            }
        }
        isOver.store(true, ordering: .releasing)
    }

    /// The commits of one client, whose revisions ascend.
    private func write(
        _ store: BlockingStore,
        _ random: inout SeededGenerator,
        _ isOver: borrowing Atomic<Bool>,
        _ commitCount: borrowing Atomic<Int>
    ) -> [Commit] {
        var made: [Commit] = []
        while !isOver.load(ordering: .acquiring) {
            let count = Int.random(in: 0..<3, using: &random) == 0 ? 4 : 1
            let names = Array(0..<Self.nameCount).shuffled(using: &random).prefix(count)
            let decision = store.commit(names.map { .increment("n\($0)") })
            guard case .success(let commit) = decision else {
                Issue.record("\(decision)")
                isOver.store(true, ordering: .releasing)
                return made
            }
            commitCount.add(1, ordering: .relaxed)
            #expect(made.last?.revision ?? 0 < commit.revision, "seed \(seed)")
            made.append(commit)
        }
        return made
    }

    private func look(
        _ store: BlockingStore,
        _ random: inout SeededGenerator,
        _ isOver: borrowing Atomic<Bool>
    ) -> Set<Sight> {
        var (shown, sights): (Revision, Set<Sight>) = (0, [])
        while !isOver.load(ordering: .acquiring) {
            let name = Int.random(in: 0..<Self.nameCount, using: &random)
            let seen = store.property("n\(name)")?.revision ?? 0
            sights.insert(Sight(shown: shown, name: name, seen: seen))
            shown = max(shown, seen, store.base.usage.revision)
        }
        return sights
    }

    private func list(_ store: BlockingStore, _ isOver: borrowing Atomic<Bool>) -> Set<Sight> {
        var sights: Set<Sight> = []
        while !isOver.load(ordering: .acquiring) {
            let page = store.list(limit: 100)
            var seen = Array(repeating: 0 as Revision, count: Self.nameCount)
            for property in page.properties {
                #expect(property.revision <= page.revision, "seed \(seed)")
                if let name = Int(PropertyName(of: property).text.dropFirst()) {
                    seen[name] = property.revision
                }
            }
            for (name, revision) in seen.enumerated() {
                sights.insert(Sight(shown: page.revision, name: name, seen: revision))
            }
        }
        return sights
    }
}
