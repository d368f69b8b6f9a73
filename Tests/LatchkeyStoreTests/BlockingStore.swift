import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// A store whose operations wait for their completion, so that a test reads from top to bottom.
final class BlockingStore<Store: CommittingStore>: Sendable {
    let base: Store

    init(_ base: Store) {
        self.base = base
    }

    func wait<Result: Sendable>(
        _ submit: (@escaping @Sendable (Result) -> Void) throws(BacklogFull) -> Void
    ) -> Result {
        let result = Synchronized<Result?, LockStrategy>(nil)
        let isDone = Gate()
        do {
            try submit { value in
                result.write { $0 = value }
                isDone.open()
            }
        } catch {
            preconditionFailure("one access at a time does not fill a backlog")
        }
        // Three times as long as usual: actors share the pool's few threads with other tests.
        guard isDone.pass() || isDone.pass() || isDone.pass(), let value = result.read({ $0 })
        else {
            preconditionFailure("the completion of \(Store.self) brought the result")
        }
        return value
    }

    func commit(_ change: Change) -> Decision {
        wait { (completion) throws(BacklogFull) in
            try base.commit(change, observer: NoObserver(), completion: completion)
        }
    }

    func commit(_ steps: [Change.Step]) -> Decision {
        commit(Change(steps))
    }

    /// Adds 1 and returns the revision.
    @discardableResult
    func increment(_ name: String) -> Revision {
        revision(of: commit(.increment(.owning(name), by: 1)))
    }

    func delete(_ name: String) {
        _ = revision(of: commit(.delete(.owning(name))))
    }

    private func revision(of decision: Decision) -> Revision {
        do {
            return try decision.get().revision
        } catch {
            Issue.record("\(error)")
            return 0
        }
    }

    func property(_ name: String) -> Property? {
        wait { (completion) throws(BacklogFull) in
            try base.look(.owning(name), observer: NoObserver(), completion: completion)
        }
    }

    func value(_ name: String) -> String? {
        property(name).map(text)
    }

    func text(_ property: Property) -> String {
        unsafe String(decoding: property.valueBytes, as: UTF8.self)
    }

    func list(prefix: String = "", after: String? = nil, limit: Int) -> Page {
        let request = PageRequest(
            prefix: OwnedBytes(Array(prefix.utf8)),
            after: after.map { OwnedBytes(Array($0.utf8)) },
            limit: limit
        )
        return wait { base.list(request, observer: NoObserver(), completion: $0) }
    }
}

extension BlockingStore {
    /// A store whose clock stands still, unless it has another one.
    convenience init<ChosenStrategy: Strategy>(
        stripeCount: Int,
        limits: StoreLimits = StoreLimits(),
        clock: StoreClock = StoreClock { Timestamp(milliseconds: 0) },
        after revision: Revision = 0,
        strategy: () -> ChosenStrategy
    ) where Store == PropertyStore<ChosenStrategy> {
        self.init(
            PropertyStore(
                limits: limits,
                stripeCount: stripeCount,
                strategy: strategy,
                clock: clock,
                after: revision
            )
        )
    }

    convenience init<ChosenStrategy: MakeableStrategy>(
        stripeCount: Int
    ) where Store == PropertyStore<ChosenStrategy> {
        self.init(stripeCount: stripeCount) { ChosenStrategy() }
    }

    convenience init<ChosenStrategy: MakeableStrategy>(
        stripeCount: Int,
        limits: StoreLimits = StoreLimits(),
        after revision: Revision = 0,
        hook: CommitHook
    ) where Store == HookedStore<ChosenStrategy> {
        self.init(
            HookedStore(
                limits: limits,
                stripeCount: stripeCount,
                strategy: { ChosenStrategy() },
                clock: StoreClock { Timestamp(milliseconds: 0) },
                after: revision,
                hook: hook
            )
        )
    }

    func execute<ChosenStrategy: Strategy>(
        _ change: Change,
        at time: Timestamp
    ) -> Decision where Store == PropertyStore<ChosenStrategy> {
        wait { (completion) throws(BacklogFull) in
            try base.execute(
                change,
                at: time,
                observer: NoObserver(),
                receiver: DecisionClosure(completion)
            )
        }
    }

    func apply<ChosenStrategy: Strategy>(_ commit: Commit)
    where Store == PropertyStore<ChosenStrategy> {
        let _: Bool = wait { (completion) throws(BacklogFull) in
            try base.apply(commit) { completion(true) }
        }
    }

    func digest<ChosenStrategy: Strategy>() -> UInt64 where Store == PropertyStore<ChosenStrategy> {
        wait { base.digest(completion: $0) }
    }

    func digest<ChosenStrategy: Strategy>() -> UInt64 where Store == HookedStore<ChosenStrategy> {
        wait { base.base.digest(completion: $0) }
    }

    func stripe<ChosenStrategy: Strategy>(of name: String) -> Int
    where Store == PropertyStore<ChosenStrategy> {
        base.index(.owning(name))
    }
}

extension PropertyName {
    /// A valid name that keeps its bytes.
    static func owning(_ text: String) -> PropertyName {
        let owner = OwnedBytes(Array(text.utf8))
        guard let name = try? unsafe PropertyName(borrowing: owner.bytes, owner: owner) else {
            preconditionFailure("the test's names are valid")
        }
        return name
    }
}

extension Change {
    init(_ steps: [Step]) {
        self = steps.count == 1 ? .step(steps[0]) : .transaction(Transaction(steps))
    }

    init(_ step: Step) {
        self = .step(step)
    }
}

extension Change.Step {
    static func put(_ name: String, _ value: String, _ conditions: Conditions = .none) -> Self {
        let value = OwnedBytes(Array(value.utf8))
        let step = Self(.owning(name), unsafe .put(value.bytes))
        return withExtendedLifetime(value) { step.copy(conditions) }
    }

    static func delete(_ name: String, _ conditions: Conditions = .none) -> Self {
        Self(.owning(name), .delete, conditions)
    }

    static func increment(
        _ name: String,
        by step: Int64 = 1,
        _ conditions: Conditions = .none
    ) -> Self {
        Self(.owning(name), .increment(by: step), conditions)
    }

    static func touch(_ name: String, ttl: TimeToLive, _ conditions: Conditions = .none) -> Self {
        Self(.owning(name), .touch, ttl: ttl, conditions)
    }

    static func pop(_ prefix: String) -> Self { Self(.owning(prefix), .pop(nil)) }

    static func claim(_ prefix: String, _ claim: String, ttl: TimeToLive) -> Self {
        let value = OwnedBytes(Array("null".utf8))
        return withExtendedLifetime(value) {
            let claim = unsafe Change.Claim(.owning(claim), value: value.bytes)
            return Self(.owning(prefix), .pop(claim), ttl: ttl)
        }
    }

    static func deletePrefix(_ prefix: String, countMax: Int = 1000, isWhole: Bool = true) -> Self {
        Self(.owning(prefix), .deletePrefix(countMax: countMax, isWhole: isWhole))
    }

    static func count(_ prefix: String) -> Self { Self(.owning(prefix), .count) }

    static func get(_ name: String, _ conditions: Conditions = .none) -> Self {
        Self(.owning(name), .get, conditions)
    }
}

/// What became of a change of one property, without its values.
enum Outcome: Hashable {
    case created(Revision)
    case replaced(Revision)
    case deleted(Revision)
    case unchanged(Revision)
    case refused(Refusal)

    init(_ decision: Decision) {
        switch decision {
        case .success(let commit):
            let revision = commit.revision
            self =
                switch (commit.first?.former, commit.first?.property) {
                case (nil, nil): .unchanged(revision)
                case (nil, .some): .created(revision)
                case (.some, .some): .replaced(revision)
                case (.some, nil): .deleted(revision)
                }
        case .failure(let refusal):
            self = .refused(refusal)
        }
    }
}

extension PropertyTable {
    mutating func run(_ steps: Change.Step...) -> Outcome {
        Outcome(execute(Change(steps)))
    }

    mutating func execute(_ change: Change) -> Decision {
        let now = Timestamp(milliseconds: 0)
        switch change {
        case .step(let step):
            return execute(step, step.prepare(), at: now)
        case .transaction(let transaction):
            var tables = [self]
            defer { self = tables[0] }
            return tables.execute(
                PreparedTransaction(transaction, at: now, stripeCount: 1) { _ in 0 }
            )
        }
    }

    mutating func put(
        _ name: PropertyName,
        _ value: String,
        _ conditions: Conditions = .none
    ) -> Outcome {
        run(.put(name.text, value, conditions))
    }

    mutating func delete(_ name: PropertyName, _ conditions: Conditions = .none) -> Outcome {
        run(.delete(name.text, conditions))
    }

    mutating func increment(
        _ name: PropertyName,
        by step: Int64,
        _ conditions: Conditions = .none
    ) -> Outcome {
        run(.increment(name.text, by: step, conditions))
    }
}

extension PropertyName {
    var text: String {
        unsafe String(decoding: bytes, as: UTF8.self)
    }
}

extension BlockingStore {
    /// A store whose clock stands still, with 8 stripes and a pause between the steps of changes.
    static func pausing<ChosenStrategy: MakeableStrategy>(
        _ limits: StoreLimits,
        turns: Int
    ) -> BlockingStore where Store == PropertyStore<ChosenStrategy> {
        BlockingStore(
            PropertyStore(
                limits: limits,
                stripeCount: 8,
                strategy: { ChosenStrategy() },
                clock: StoreClock { Timestamp(milliseconds: 0) },
                after: 0,
                hook: nil,
                betweenSteps: {
                    for _ in 0..<turns { Yield.now() }
                }
            )
        )
    }
}
