import LatchkeyGuards
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
/// on it: so tests use short times to live. After the end of a bench its clock is far ahead, so
/// that no timer looks at it until the process ends. A test keeps the bench as long as its store.
struct JournaledBench: Sendable {
    private final class End: Sendable {
        let clock = ManualClock()

        deinit { clock.advance(1 << 60) }
    }

    private let end = End()
    let journal: Journal
    let expiries: ExpiryQueue
    let evictor = Evictor()
    let store: BlockingStore

    var base: PropertyStore { store.base }
    var clock: ManualClock { end.clock }

    init(
        _ kind: StrategyKind = .lock,
        stripeCount: Int = 8,
        limits: StoreLimits = StoreLimits(),
        history: HistoryLimits = HistoryLimits(),
        rules: RuleLevel = .current
    ) {
        journal = Journal(history)
        expiries = ExpiryQueue(clock: end.clock.clock, rules: { rules })
        let parts = StoreParts(journal: journal, expiries: expiries, evictor: evictor)
        store = BlockingStore(kind, stripeCount, limits, end.clock.clock, 0, parts)
        base.rules = rules
    }

    @discardableResult
    func put(_ name: String, _ value: String = "1", ttl: TimeToLive? = nil) -> Decision {
        store.commit(Change(.put(name, value, ttl: ttl)))
    }

    /// The commits after a revision, one text for each effect.
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

/// The same with a hook, under `lock`.
struct HookedBench: Sendable {
    let clock = ManualClock()
    let journal: Journal
    let expiries: ExpiryQueue
    let evictor = Evictor()
    let store: BlockingStore

    var base: PropertyStore { store.base }

    init(_ hook: CommitHook, limits: StoreLimits = StoreLimits(), after revision: Revision = 0) {
        journal = Journal(HistoryLimits(), after: revision)
        expiries = ExpiryQueue(clock: clock.clock)
        let parts = StoreParts(hook: hook, journal: journal, expiries: expiries, evictor: evictor)
        store = BlockingStore(.lock, 4, limits, clock.clock, revision, parts)
    }

    /// Adds 1 without waiting for the answer.
    func increment(_ name: String, ttl: TimeToLive? = nil) throws {
        try base.commit(.increment(.owning(name), by: 1, ttl: ttl), .here(), completion: { _ in })
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
    /// The commits after a revision, of which none is dropped yet.
    func all(after revision: Revision = 0) -> [Commit] {
        if case .commits(let commits, _) = commits(after: revision, countMax: .max) {
            return commits
        }
        Issue.record("the commits after \(revision) are gone")
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
    /// Small limits at which properties are evicted.
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
    /// A store with its parts, of which the evictor is left out if a full store refuses.
    fileprivate convenience init(
        _ kind: StrategyKind,
        _ stripeCount: Int,
        _ limits: StoreLimits,
        _ clock: StoreClock,
        _ revision: Revision,
        _ parts: StoreParts
    ) {
        var parts = parts
        if limits.eviction != .lru { parts.evictor = nil }
        let base = PropertyStore(
            limits: limits,
            stripeCount: kind.traits.prefersOneStripe ? 1 : stripeCount,
            guards: GuardSettings(kind),
            clock: clock,
            after: revision,
            parts: parts
        )
        parts.expiries?.start(base)
        parts.evictor?.start(base)
        self.init(base)
    }
}
