import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// A store whose operations wait for their completion, so that a test reads from top to bottom.
final class BlockingStore: Sendable {
    let base: PropertyStore
    /// The store that changes go through.
    private let committing: any CommittingStore

    init(_ base: PropertyStore, through committing: (any CommittingStore)? = nil) {
        self.base = base
        self.committing = committing ?? base
    }

    /// A store whose clock stands still, unless it has another one.
    ///
    /// An actor has one stripe.
    convenience init(
        _ kind: StrategyKind = .lock,
        stripeCount: Int,
        limits: StoreLimits = StoreLimits(),
        clock: StoreClock = StoreClock { Timestamp(milliseconds: 0) },
        after revision: Revision = 0,
        hook: CommitHook? = nil,
        betweenSteps: (@Sendable () -> Void)? = nil
    ) {
        self.init(
            PropertyStore(
                limits: limits,
                stripeCount: kind.traits.prefersOneStripe ? 1 : stripeCount,
                guards: GuardSettings(kind),
                clock: clock,
                after: revision,
                parts: StoreParts(hook: hook),
                betweenSteps: betweenSteps
            )
        )
    }

    /// A store with 8 stripes, and a pause between the steps of changes.
    static func pausing(
        _ kind: StrategyKind,
        _ limits: StoreLimits,
        turns: Int
    ) -> BlockingStore {
        BlockingStore(kind, stripeCount: 8, limits: limits) {
            for _ in 0..<turns { Yield.now() }
        }
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
            preconditionFailure("the completion brought the result")
        }
        return value
    }

    func commit(_ change: Change) -> Decision {
        wait { (completion) throws(BacklogFull) in
            try committing.commit(change, .here(), completion: completion)
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
            try base.look(.owning(name), in: .live, .here(), completion: completion)
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
        return wait { base.list(request, .here(), completion: $0) }
    }
}

extension BlockingStore {
    func execute(_ change: Change, at time: Timestamp) -> Decision {
        wait { (completion) throws(BacklogFull) in
            let receiver = DecisionClosure(completion)
            try base.execute(change, at: time, .here(), receiver: receiver)
        }
    }

    func apply(_ commit: Commit) {
        wait { (completion: @escaping @Sendable (()) -> Void) throws(BacklogFull) in
            try base.apply(commit, .here()) { completion(()) }
        }
    }

    func snapshot() -> StoreSnapshot {
        wait { base.snapshot(.here(), completion: $0) }
    }

    /// A hash of the names and values, and of all revisions.
    func digest() -> UInt64 { snapshot().digest }

    func stripe(of name: String) -> Int { base.index(.owning(name)) }
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

/// The outcome of a change of one property, without its values.
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
            return execute(step, step.prepare(), at: now, takenByteCount: 0).value
        case .transaction(let transaction):
            var tables = [self]
            defer { self = tables[0] }
            let prepared = PreparedTransaction(transaction, at: now, stripeCount: 1) { _ in 0 }
            guard let decision = tables.execute(prepared) else {
                preconditionFailure("only a pop with a claim passes names")
            }
            return decision
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
