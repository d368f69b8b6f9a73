import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// Once a revision was shown to anyone, every access that begins later sees all commits up to it.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct CommitOrderTests {
    /// An actor has one stripe.
    @Test(arguments: Depth.kinds.filter { $0 != .actor }, Witness.allCases)
    func `a revision that was shown is preceded by all before it, issue 7`(
        kind: StrategyKind,
        witness: Witness
    ) {
        kind.accept(LateWriter(witness: witness))
    }

    @Test(arguments: Depth.kinds)
    func `readers of several stripes see commits in the order of their revisions, issue 7`(
        kind: StrategyKind
    ) {
        kind.accept(ReadingAcross())
    }
}

/// By what a reader learns that a later revision exists.
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
private struct LateWriter: StrategyVisitor {
    let witness: Witness

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) {
        let (taken, letGo) = (Gate(), Gate())
        let isHeld = Synchronized<Bool, LockStrategy>(false)
        let store = BlockingStore(stripeCount: 2) {
            Paused(ChosenStrategy()) {
                if isHeld.write({ held in
                    defer { held = false }
                    return held
                }) {
                    taken.open()
                    letGo.pass()
                }
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
    private static func names<ChosenStrategy>(
        of store: BlockingStore<PropertyStore<ChosenStrategy>>
    ) -> (String, String) {
        let other = (0...).lazy.map { "b\($0)" }.first {
            store.stripe(of: $0) != store.stripe(of: "a")
        }
        return ("a", other ?? "")
    }
}

extension Witness {
    /// Whether the reader knows of a commit after the one that is held back.
    fileprivate func isShown<ChosenStrategy>(
        by store: BlockingStore<PropertyStore<ChosenStrategy>>,
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
private struct ReadingAcross: StrategyVisitor {
    struct Sight: Hashable, Sendable {
        let shown: Revision
        let name: Int
        let seen: Revision
    }

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) {
        let store = BlockingStore(stripeCount: 8) {
            Paused(ChosenStrategy()) {
                for _ in 0..<10 { Yield.now() }
            }
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

/// A strategy whose writers do something after their body has run and before readers see it.
private struct Paused<Base: Strategy>: Strategy {
    static var strategyPromise: Promise<Self> { unsafe .unchecked() }
    let base: Base
    let pause: @Sendable () -> Void

    init(_ base: Base, _ pause: @escaping @Sendable () -> Void) {
        self.base = base
        self.pause = pause
    }

    static var name: String { Base.name }
    static var traits: StrategyTraits { Base.traits }
    var backlogCount: Int { base.backlogCount }

    func submit<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try base.submit(request, observer: observer, body, completion: completion)
    }

    static func submitAll<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        _ strategies: [Self],
        observers: [Observer],
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let bases = strategies.map(\.base)
        try Base.submitAll(request, bases, observers: observers, body, completion: completion)
    }

    nonisolated(nonsending) func awaiting<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        whenFull: WhenFull,
        _ body: @Sendable () -> Result
    ) async throws(AccessRefused) -> Result {
        try await base.awaiting(request, observer: observer, whenFull: whenFull, body)
    }

    func begin<Value>(_ guarded: GuardedValue<Value>) { base.begin(guarded) }

    func reading<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (borrowing LentValue<Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe base.reading(guarded, body)
    }

    func writing<Value, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe base.writing(guarded) { value throws(Failure) in
            let result = try body(&value)
            pause()
            return result
        }
    }
}
