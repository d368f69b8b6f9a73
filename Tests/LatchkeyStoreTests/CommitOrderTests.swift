import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Once a revision was shown to anyone, every access that begins later sees all commits up to it.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct CommitOrderTests {
    /// An actor has one stripe.
    @Test(arguments: Depth.kinds.filter { $0 != .actor }, Witness.allCases)
    func `a revision that was shown is preceded by all before it, issue 7`(
        kind: StrategyKind,
        witness: Witness
    ) {
        LateWriter(witness: witness).run(kind)
    }

    @Test(arguments: Depth.kinds)
    func `readers of several stripes see commits in the order of their revisions, issue 7`(
        kind: StrategyKind
    ) {
        ReadingAcross().run(kind)
    }
}

/// How a reader learns that a later revision exists.
enum Witness: CaseIterable {
    case value
    case absence
    case usage
}

/// A writer is held after it has taken its revision and before readers see what it wrote.
///
///     writer of a                  writer of b            reader
///     -----------                  -----------            ------
///     takes revision N
///     held back ─────────────────▶ takes N + 1 ─────────▶ sees N + 1
///                                                         must see N in a
///     let go
private struct LateWriter {
    let witness: Witness

    func run(_ kind: StrategyKind) {
        let (taken, letGo) = (Gate(), Gate())
        let isHeld = Synchronized<Bool, LockStrategy>(false)
        let store = BlockingStore(kind, stripeCount: 2) {
            if isHeld.write({ held in
                defer { held = false }
                return held
            }) {
                taken.open()
                letGo.pass()
            }
        }
        let (a, b) = Self.names(of: store)
        if witness == .absence {
            store.increment(b)
        }
        isHeld.write { $0 = true }
        let late = TestThread { store.increment(a) }
        #expect(taken.pass())
        let early = TestThread { [witness] in
            if witness == .absence {
                store.delete(b)
            } else {
                store.increment(b)
            }
        }
        let hasRead = Gate()
        let reader = TestThread { [witness] in
            while !witness.isShown(by: store, b) && store.property(a) == nil {
                Yield.now()
            }
            #expect(store.property(a) != nil, "a later revision was shown, \(witness)")
            hasRead.open()
        }
        _ = hasRead.staysClosed
        letGo.open()
        #expect(late.join() && early.join() && reader.join())
    }

    /// Two names in different stripes.
    private static func names(
        of store: BlockingStore
    ) -> (String, String) {
        let other = (0...).lazy.map { "b\($0)" }.first {
            store.stripe(of: $0) != store.stripe(of: "a")
        }
        return ("a", other ?? "")
    }
}

extension Witness {
    /// Whether the reader knows of a commit after the one that is held back.
    fileprivate func isShown(
        by store: BlockingStore,
        _ name: String
    ) -> Bool {
        switch self {
        case .value: store.property(name) != nil
        case .absence: store.property(name) == nil
        case .usage: store.base.usage.revision > 0
        }
    }
}

/// Writers count on names in eight stripes and now and then yield before they publish.
///
/// A reader remembers the highest revision it was shown, and what it saw after that.
private struct ReadingAcross {
    struct Sight: Hashable, Sendable {
        let shown: Revision
        let name: Int
        let seen: Revision
    }

    func run(_ kind: StrategyKind) {
        let store = BlockingStore(kind, stripeCount: 8) {
            for _ in 0..<10 { Yield.now() }
        }
        let commits = Synchronized<[[Revision]], LockStrategy>(Array(repeating: [], count: 8))
        let sights = Synchronized<Set<Sight>, LockStrategy>([])
        let writers = Arrivals()
        let ended = TestThread.run(5) { thread in
            if thread < 3 {
                for step in 0..<80 {
                    let name = (thread + step * 3) % 8
                    let revision = store.increment("n\(name)")
                    commits.write { $0[name].append(revision) }
                }
                writers.arrive()
            } else {
                var shown: Revision = 0
                var own: Set<Sight> = []
                var name = thread
                while writers.value < 3 {
                    name = (name + 5) % 8
                    let seen = store.property("n\(name)")?.revision ?? 0
                    own.insert(Sight(shown: shown, name: name, seen: seen))
                    shown = max(shown, seen)
                }
                sights.write { [own] in $0.formUnion(own) }
            }
        }
        #expect(ended)
        let all = commits.read { $0.map { $0.sorted() } }
        let missed = sights.read { $0 }.filter { sight in
            all[sight.name].contains { $0 <= sight.shown && $0 > sight.seen }
        }
        #expect(missed.count == 0, "reads that missed a commit")
    }
}
