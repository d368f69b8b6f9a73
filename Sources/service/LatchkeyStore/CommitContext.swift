internal import Synchronization

/// The state that the tables of one store share.
///
/// **Design.** The tables are guarded one by one, so what is common to them is atomic.
final class CommitContext: Sendable {
    let revisions: RevisionSequence
    let room: StoreRoom
    let quotas: QuotaTable
    let claims: ClaimQueues
    let limits: StoreLimits
    let clock: StoreClock
    /// The number of the latest use of a property, where uses are numbered.
    private let uses = Atomic<UInt64>(0)
    private let workUnits = Atomic<UInt64>(0)
    private let ruleNumber = Atomic(RuleLevel.current.rawValue)
    /// The hook of the store, if it has one.
    let hook: CommitHook?
    /// Called between the steps of a commit: a test plants a delay there.
    let betweenSteps: (@Sendable () -> Void)?

    init(
        limits: StoreLimits,
        clock: StoreClock = .system,
        after revision: Revision = 0,
        ordersPublication: Bool = false,
        hook: CommitHook? = nil,
        betweenSteps: (@Sendable () -> Void)? = nil
    ) {
        self.limits = limits
        self.clock = clock
        revisions = RevisionSequence(after: revision, ordersPublication: ordersPublication)
        room = StoreRoom(limits: limits)
        quotas = QuotaTable(limits.quotas)
        claims = ClaimQueues(limits)
        self.hook = hook
        self.betweenSteps = betweenSteps
    }

    /// The rules that changes are decided by.
    ///
    /// Relaxed: the thread that sets them submits the next change afterwards, which orders both.
    var rules: RuleLevel {
        get { RuleLevel(rawValue: ruleNumber.load(ordering: .relaxed)) ?? .current }
        set { ruleNumber.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Numbers a use of the property, if properties are evicted in the order of their use.
    ///
    /// Relaxed: the numbers order nothing but uses.
    @inline(__always)
    func noteUse(_ property: Property) {
        if limits.eviction == .lru {
            property.lastUse = uses.add(1, ordering: .relaxed).newValue
        }
    }

    /// The number of the latest use.
    var useCount: UInt64 { uses.load(ordering: .relaxed) }

    /// How full the store is, and the latest revision that may be shown.
    var usage: StoreUsage {
        let used = room.used
        let last = revisions.last
        return StoreUsage(
            revision: hook.map { min($0.released, last) } ?? last,
            propertyCount: used.propertyCount,
            byteCount: used.byteCount,
            workUnits: workUnits.load(ordering: .relaxed)
        )
    }

    /// Counts the work of a decision.
    func note(_ work: ChangeWork) {
        if work.units > 0 {
            workUnits.wrappingAdd(work.units, ordering: .relaxed)
        }
    }

    /// Takes the room that `new` needs beyond that of `former`, both of one name.
    func takeRoom(
        for new: StoreSize,
        beyond former: StoreSize,
        of name: PropertyName
    ) throws(Refusal) {
        let growth = new.byteCount - former.byteCount
        guard !quotas.isEmpty, growth > 0 else {
            return try takeRoom(for: new, beyond: former)
        }
        do throws(StoreFull) {
            try quotas.take(growth, of: name)
        } catch {
            throw .full(error)
        }
        do throws(Refusal) {
            try takeRoom(for: new, beyond: former)
        } catch {
            quotas.giveBack(growth, of: name)
            throw error
        }
    }

    /// The same for several names, which make the quotas grow by `growth`.
    func takeRoom(
        for new: StoreSize,
        beyond former: StoreSize,
        _ growth: QuotaGrowth
    ) throws(Refusal) {
        do throws(StoreFull) {
            try quotas.take(growth)
        } catch {
            throw .full(error)
        }
        do throws(Refusal) {
            try takeRoom(for: new, beyond: former)
        } catch {
            quotas.giveBackTaken(growth)
            throw error
        }
    }

    private func takeRoom(for new: StoreSize, beyond former: StoreSize) throws(Refusal) {
        do {
            try room.take(for: new, beyond: former)
        } catch {
            throw .full(error)
        }
    }

    /// Takes the revision of a commit of one name, then gives back the room of `former`.
    func nextRevision(
        givingBack former: StoreSize,
        beyond new: StoreSize,
        of name: PropertyName
    ) -> Revision {
        let revision = nextRevision(givingBack: former, beyond: new)
        if !quotas.isEmpty, former.byteCount > new.byteCount {
            quotas.giveBack(former.byteCount - new.byteCount, of: name)
        }
        return revision
    }

    /// The same for several names, which make the quotas grow by `growth`.
    func nextRevision(
        givingBack former: StoreSize,
        beyond new: StoreSize,
        _ growth: QuotaGrowth
    ) -> Revision {
        let revision = nextRevision(givingBack: former, beyond: new)
        quotas.giveBackShrinking(growth)
        return revision
    }

    /// Takes the revision of a commit, then gives back the room of `former`.
    func nextRevision(givingBack former: StoreSize, beyond new: StoreSize) -> Revision {
        let revision = revisions.next()
        betweenSteps?()
        if former.propertyCount > new.propertyCount || former.byteCount > new.byteCount {
            room.giveBack(former, beyond: new)
        }
        return revision
    }

    /// Ends the publication of the calling thread's commit, which readers see by now.
    func published() {
        revisions.published()
    }
}
