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
        var drafts: [Draft] = []
        drafts.reserveCapacity(positions.count)
        for index in positions.indices {
            let former = self[positions[index]].find(transaction.names[index], in: .stored)
            drafts.append(Draft(former, at: time))
        }
        var work = TransactionWork(context.limits)
        var succeeded = true
        for (test, position) in transaction.conditions where succeeded {
            let property = drafts[position].property
            try work.take(test.readByteCount(property))
            succeeded = test.holds(property)
        }
        var results = try drafts.take(
            succeeded ? transaction.steps : transaction.otherwise,
            of: succeeded ? .then : .otherwise,
            at: time,
            context.limits,
            &work
        )
        let (former, new) = drafts.changedSizes
        try context.takeRoom(for: new, beyond: former)
        var first: Commit.Effect?
        var others: [Commit.Effect] = []
        for index in drafts.indices where drafts[index].isChanged {
            let (former, property) = (drafts[index].former, drafts[index].property)
            self[positions[index]].install(transaction.names[index], former, property)
            guard let effect = drafts[index].effect else {
                continue
            }
            if first == nil {
                first = effect
            } else {
                others.append(effect)
            }
        }
        let revision =
            first == nil
            ? context.revisions.last : context.nextRevision(givingBack: former, beyond: new)
        for index in drafts.indices where drafts[index].isChanged {
            self[positions[index]].stamp(
                transaction.names[index],
                drafts[index].property,
                created: drafts[index].created ?? revision,
                expiry: drafts[index].expiry,
                revision
            )
            self[positions[index]].noteShared(revision)
        }
        for draft in drafts where !draft.isChanged {
            draft.property.map(context.noteUse)
        }
        for index in results.indices {
            results[index].settle(first == nil ? 0 : revision)
        }
        return Commit(
            revision: revision,
            time: time,
            first: first,
            others: others,
            outcome: Transaction.Outcome(succeeded: succeeded, results: results)
        )
    }

    /// Executes a change, and says which revision the answer depends on.
    ///
    /// That of the commit, or the newest one of the properties that a refusal was decided by.
    @usableFromInline
    mutating func executeWithheld(_ transaction: PreparedTransaction) -> Withheld<Decision> {
        let decision = execute(transaction, at: nil)
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
            let former = self[position].find(name, in: .stored)
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

    /// The property as it is now, to be settled when the commit has got its revision.
    var result: Transaction.Result {
        let revision = property == nil ? 0 : isChanged ? nil : property?.revision
        return Transaction.Result(property, revision: revision, created: created, expiry: expiry)
    }
}

extension [Draft] {
    /// The sizes of what the steps change, before and after them.
    fileprivate var changedSizes: (former: StoreSize, new: StoreSize) {
        var (former, new) = (StoreSize(), StoreSize())
        for draft in self where draft.isChanged {
            former += StoreSize(draft.former)
            new += StoreSize(draft.property)
        }
        return (former, new)
    }

    /// Takes the steps one after the other.
    ///
    /// - Returns: for each step its result, to be settled.
    fileprivate mutating func take(
        _ steps: [PreparedTransaction.Step],
        of branch: Transaction.Branch,
        at time: Timestamp,
        _ limits: StoreLimits,
        _ work: inout TransactionWork
    ) throws(Refusal) -> [Transaction.Result] {
        for index in steps.indices {
            do throws(Refusal) {
                let step = steps[index]
                try step.step.check(self[step.position].property)
            } catch {
                throw .step(index, branch, error)
            }
        }
        var results: [Transaction.Result] = []
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
            results.append(self[step.position].result)
        }
        return results
    }
}
