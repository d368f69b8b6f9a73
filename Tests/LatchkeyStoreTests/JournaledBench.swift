import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyStore

/// A clock that a test sets, and that counts how often it is read.
final class ManualClock: Sendable {
    private let milliseconds = Atomic<Int64>(0)
    let reads = Arrivals()

    var clock: StoreClock {
        StoreClock { [self] in
            reads.arrive()
            return now
        }
    }

    var now: Timestamp { Timestamp(milliseconds: milliseconds.load(ordering: .acquiring)) }

    func advance(_ step: Int64) {
        milliseconds.add(step, ordering: .releasing)
    }
}

/// A store with a journal, expiry and eviction, and with a clock that the test sets.
///
/// A timer that waits for the clock looks at it again after as many real milliseconds as are left
/// on it: so tests use short times to live. Behind the end of a bench its clock is far ahead, so
/// that no timer looks at it until the process ends. A test keeps the bench as long as its store.
struct JournaledBench<ChosenStrategy: MakeableStrategy>: Sendable {
    private final class End: Sendable {
        let clock = ManualClock()

        deinit { clock.advance(1 << 60) }
    }

    private let end = End()
    let journal: Journal
    let expiries: ExpiryQueue
    let evictor = Evictor()
    let base: PropertyStore<ChosenStrategy>
    let store: BlockingStore<JournaledStore<PropertyStore<ChosenStrategy>>>

    var clock: ManualClock { end.clock }

    init(
        stripeCount: Int = 8,
        limits: StoreLimits = StoreLimits(),
        history: HistoryLimits = HistoryLimits(),
        rules: RuleLevel = .current
    ) {
        let clock = end.clock
        journal = Journal(history)
        expiries = ExpiryQueue(clock: clock.clock, rules: { rules })
        base = PropertyStore(
            limits: limits,
            stripeCount: stripeCount,
            strategy: { ChosenStrategy() },
            clock: clock.clock
        )
        base.rules = rules
        store = BlockingStore(base, journal, expiries, limits.eviction == .lru ? evictor : nil)
    }

    @discardableResult
    func put(_ name: String, _ value: String = "1", ttl: TimeToLive? = nil) -> Decision {
        store.commit(Change(.put(name, value, ttl: ttl)))
    }

    /// The commits behind a revision, one text for each effect.
    func story(after revision: Revision = 0) -> [String] {
        journal.all(after: revision).flatMap { commit in
            commit.effects.map { effect in
                let name = PropertyName(of: effect.some).text
                let value = effect.property.map { " \(store.text($0))" } ?? ""
                let what = effect.property == nil ? effect.reason.word : "put"
                return "\(commit.revision) \(what) \(name)\(value)"
            }
        }
    }
}

/// The same behind a hook, without a strategy of its own.
struct HookedBench: Sendable {
    let clock = ManualClock()
    let journal: Journal
    let expiries: ExpiryQueue
    let evictor = Evictor()
    let base: HookedStore<LockStrategy>
    let store: BlockingStore<JournaledStore<HookedStore<LockStrategy>>>

    init(_ hook: CommitHook, limits: StoreLimits = StoreLimits(), after revision: Revision = 0) {
        journal = Journal(HistoryLimits(), after: revision)
        expiries = ExpiryQueue(clock: clock.clock)
        base = HookedStore(
            limits: limits,
            stripeCount: 4,
            strategy: { LockStrategy() },
            clock: clock.clock,
            after: revision,
            hook: hook
        )
        store = BlockingStore(base, journal, expiries, limits.eviction == .lru ? evictor : nil)
    }

    /// Adds 1 without waiting for the answer.
    func increment(_ name: String, ttl: TimeToLive? = nil) throws {
        try store.base.commit(.increment(.owning(name), by: 1, ttl: ttl), completion: { _ in })
    }
}

extension Commit.Reason {
    fileprivate var word: String {
        switch self {
        case .requested: "deleted"
        case .evicted: "evicted"
        case .expired: "expired"
        case .touched: "touched"
        }
    }
}

extension Journal {
    /// The commits behind a revision, of which none is dropped yet.
    func all(after revision: Revision = 0) -> [Commit] {
        if case .commits(let commits, _) = commits(after: revision, countMax: .max) {
            return commits
        }
        Issue.record("the commits behind \(revision) are gone")
        return []
    }

    /// Waits until a revision is delivered; false if it is not.
    func wait(for revision: Revision) -> Bool {
        let isReached = Gate()
        whenReached(revision) { isReached.open() }
        return isReached.pass()
    }
}

extension StoreLimits {
    /// Small bounds at which properties are evicted.
    static func evicting(properties: Int = 1000, bytes: Int = 100_000) -> StoreLimits {
        var limits = StoreLimits(propertyCountMax: properties, byteCountMax: bytes)
        limits.eviction = .lru
        return limits
    }
}

extension Change.Step {
    static func put(_ name: String, _ value: String, ttl: TimeToLive?) -> Self {
        let value = OwnedBytes(Array(value.utf8))
        let step = Self(.owning(name), unsafe .put(value.bytes), ttl: ttl)
        return withExtendedLifetime(value) { step.copy(.none) }
    }
}

extension BlockingStore {
    fileprivate convenience init<Base>(
        _ base: Base,
        _ journal: Journal,
        _ expiries: ExpiryQueue,
        _ evictor: Evictor?
    ) where Store == JournaledStore<Base> {
        self.init(JournaledStore(base, journal: journal, expiries: expiries, evictor: evictor))
    }
}
