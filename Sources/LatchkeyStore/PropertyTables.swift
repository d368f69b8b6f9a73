// A transaction, decided and made over the tables that hold its properties.

extension [PropertyTable] {
    /// Decides a transaction and makes it in all tables, or refuses it and leaves all as they were.
    ///
    /// These are the tables that the transaction has selected. Without a time it is that of the
    /// store's clock.
    @usableFromInline
    mutating func execute(_ transaction: PreparedTransaction, at time: Timestamp?) -> Decision {
        do throws(Refusal) {
            let time = time ?? self[0].context.clock.now()
            return .success(try decide(transaction, at: time))
        } catch {
            return .failure(error)
        }
    }

    private mutating func decide(
        _ transaction: PreparedTransaction,
        at time: Timestamp
    ) throws(Refusal) -> Commit {
        let context = self[0].context
        let positions = transaction.tables.positions
        var drafts = zip(transaction.names, positions).map { name, position in
            Draft(self[position].stored(name), at: time)
        }
        var work = TransactionWork(context.limits)
        var succeeded = true
        for (test, position) in transaction.conditions where succeeded {
            let property = drafts[position].property
            try work.take(test.readByteCount(property))
            succeeded = test.holds(property)
        }
        let results = try drafts.take(
            succeeded ? transaction.steps : transaction.otherwise,
            of: succeeded ? .then : .otherwise,
            at: time,
            context.limits,
            &work
        )
        var (former, new) = (StoreSize(), StoreSize())
        for draft in drafts where draft.isChanged {
            former += StoreSize(draft.former)
            new += StoreSize(draft.property)
        }
        try context.takeRoom(for: new, beyond: former)
        let changed = drafts.indices.filter { drafts[$0].isChanged }
        for index in changed {
            let draft = drafts[index]
            self[positions[index]].install(transaction.names[index], draft.former, draft.property)
        }
        let effects = changed.compactMap { drafts[$0].effect }
        let revision =
            effects.isEmpty
            ? context.revisions.last : context.nextRevision(givingBack: former, beyond: new)
        for index in changed {
            let draft = drafts[index]
            self[positions[index]].stamp(
                transaction.names[index],
                draft.property,
                created: draft.created ?? revision,
                expiry: draft.expiry,
                revision
            )
            self[positions[index]].noteShared(revision)
        }
        for draft in drafts where !draft.isChanged {
            draft.property.map(context.noteUse)
        }
        return Commit(
            revision: revision,
            time: time,
            first: effects.first,
            others: [Commit.Effect](effects.dropFirst()),
            outcome: Transaction.Outcome(
                succeeded: succeeded,
                results: results.map { $0.result(effects.isEmpty ? 0 : revision) }
            )
        )
    }

    /// Executes a change, and says which revision the answer depends on.
    ///
    /// That of the commit, or the newest one of the properties that a refusal was decided by.
    @usableFromInline
    mutating func executeWithheld(
        _ transaction: PreparedTransaction,
        at time: Timestamp?
    ) -> Withheld<Decision> {
        let decision = execute(transaction, at: time)
        return Withheld(decision) {
            zip(transaction.names, transaction.tables.positions)
                .map { self[$1].revision(of: $0) }.max() ?? 0
        }
    }

    /// Makes the change of a commit that was decided elsewhere, without deciding again.
    ///
    /// `positions` has the position of the table for each effect.
    @usableFromInline
    mutating func apply(_ commit: Commit, _ positions: [Int]) {
        let context = self[0].context
        var formerSize = StoreSize()
        for (effect, position) in zip(commit.effects, positions) {
            let name = PropertyName(of: effect.some)
            let former = self[position].stored(name)
            formerSize += StoreSize(former)
            context.room.occupy(StoreSize(effect.property))
            self[position].install(name, former, effect.property)
            self[position].noteShared(commit.revision)
        }
        let revision = context.nextRevision(givingBack: formerSize, beyond: StoreSize())
        precondition(
            revision == commit.revision,
            "Commits are applied in the order of their revisions, without a gap."
        )
    }
}

/// A property on its way through the steps of a transaction.
private struct Draft {
    /// The property in the table.
    let former: Property?
    /// Whether the time of `former` is over.
    private let wasExpired: Bool
    var property: Property?
    var isChanged = false
    /// The revision that the property came into being at; nil for that of the commit.
    var created: Revision?
    var expiry: Timestamp

    init(_ former: Property?, at time: Timestamp) {
        self.former = former
        wasExpired = former?.isExpired(at: time) ?? false
        property = wasExpired ? nil : former
        created = property?.created
        expiry = property?.expiry ?? .never
    }

    /// What the transaction does to the property.
    ///
    /// A property that was expired and is gone has expired, whatever the steps did in between.
    var effect: Commit.Effect? {
        let isExpiry = wasExpired && property == nil
        return Commit.Effect(from: former, to: property, isExpiry ? .expired : .requested)
    }

    /// Takes a step; a deletion of nothing changes nothing.
    mutating func take(
        _ step: Change.Step,
        _ prepared: Property?,
        at time: Timestamp,
        _ limits: StoreLimits,
        _ work: inout TransactionWork
    ) throws(Refusal) {
        switch step.action {
        case .get: return
        case .delete where property == nil: return
        default: break
        }
        if property == nil {
            created = nil
        }
        let exists = property != nil
        try work.take(step.readByteCount(property))
        property = try step.property(
            from: property,
            prepared: prepared,
            valueByteCountMax: limits.valueByteCountMax
        )
        try work.take(step.writtenByteCount(property))
        expiry = step.expiry(from: exists ? expiry : nil, at: time)
        isChanged = true
    }

    /// The property as it is now, when the commit has got its revision.
    ///
    /// 0 if it took none: then a property that was made is gone, and was in no revision.
    func result(_ revision: Revision) -> Transaction.Result {
        Transaction.Result(
            property: property,
            revision: property.map { isChanged ? revision : $0.revision } ?? 0,
            created: created ?? revision,
            expiry: expiry
        )
    }
}

extension [Draft] {
    /// Takes the steps one after the other.
    ///
    /// - Returns: for each step its draft behind it.
    fileprivate mutating func take(
        _ steps: [PreparedTransaction.Step],
        of branch: Transaction.Branch,
        at time: Timestamp,
        _ limits: StoreLimits,
        _ work: inout TransactionWork
    ) throws(Refusal) -> [Draft] {
        for (index, step) in steps.enumerated() {
            do throws(Refusal) {
                try step.step.check(self[step.position].property)
            } catch {
                throw .step(index, branch, error)
            }
        }
        var results: [Draft] = []
        results.reserveCapacity(steps.count)
        var shownByteCount = 0
        for (index, step) in steps.enumerated() {
            do throws(Refusal) {
                try self[step.position].take(step.step, step.prepared, at: time, limits, &work)
                if step.step.showsValue, let property = self[step.position].property {
                    shownByteCount += property.byteCount
                }
                // A short request must not ask for an answer of any length.
                guard shownByteCount / Transaction.valuesMax <= limits.valueByteCountMax else {
                    throw .valueTooLarge
                }
            } catch {
                throw .step(index, branch, error)
            }
            results.append(self[step.position])
        }
        return results
    }
}
