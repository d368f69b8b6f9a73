// A transaction, decided and made over the tables that hold its properties.

extension [PropertyTable] {
    /// Decides a transaction and makes it in all tables, or refuses it and leaves all as they were.
    ///
    /// These are the tables that the transaction has selected.
    @usableFromInline
    mutating func execute(_ prepared: PreparedTransaction) -> Decision {
        do throws(Refusal) {
            let time = prepared.time ?? self[0].context.clock.now()
            return .success(try decide(prepared, at: time))
        } catch {
            return .failure(error)
        }
    }

    private mutating func decide(
        _ prepared: PreparedTransaction,
        at time: Timestamp
    ) throws(Refusal) -> Commit {
        let context = self[0].context
        let (names, positions) = (prepared.names, prepared.tables.positions)
        var drafts = names.indices.map { index in
            Draft(self[positions[index]].find(names[index], in: .stored), at: time)
        }
        var work = TransactionWork(context.limits)
        let succeeded = try drafts.satisfy(prepared, &work)
        var results = try drafts.take(
            succeeded ? prepared.transaction.steps : prepared.transaction.otherwise,
            succeeded ? prepared.steps : prepared.otherwise,
            of: succeeded ? .then : .otherwise,
            at: time,
            context.limits,
            &work
        )
        let (former, new) = drafts.changedSizes
        try context.takeRoom(for: new, beyond: former)
        let hasEffect = former.propertyCount + new.propertyCount > 0
        let revision =
            hasEffect
            ? context.nextRevision(givingBack: former, beyond: new) : context.revisions.last
        var first: Commit.Effect?
        var others: [Commit.Effect] = []
        for index in drafts.indices {
            guard let effect = drafts[index].effect else {
                continue
            }
            let (name, position) = (names[index], positions[index])
            self[position].install(name, effect.former, effect.property)
            self[position].stamp(
                name,
                effect.property,
                created: drafts[index].created ?? revision,
                expiry: drafts[index].expiry,
                revision
            )
            self[position].noteShared(revision)
            if first == nil {
                first = effect
            } else {
                others.append(effect)
            }
        }
        for index in drafts.indices where !drafts[index].isChanged {
            drafts[index].property.map(context.noteUse)
        }
        for index in results.indices {
            results[index].settle(hasEffect ? revision : 0)
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
    mutating func executeWithheld(
        _ prepared: PreparedTransaction,
        takenByteCount: Int
    ) -> Withheld<Decision> {
        let decision = execute(prepared)
        return Withheld(decision, self[0].context, takenByteCount) {
            zip(prepared.names, prepared.tables.positions)
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

// All tables of a store.

extension [PropertyTable] {
    /// Puts properties of an earlier life of the store in their places.
    ///
    /// `table` has the position of the table of a name.
    mutating func load(_ properties: [Property], _ table: (PropertyName) -> Int) {
        var (former, new) = (StoreSize(), StoreSize())
        for property in properties {
            let name = PropertyName(of: property)
            former += StoreSize(self[table(name)].put(back: property, name))
            new += StoreSize(property)
        }
        self[0].context.room.restore(new, beyond: former)
    }

    /// Makes the changes of commits that were made before, in the order of their revisions.
    ///
    /// - Returns: The commits, with the former properties that are found here. The removal of what
    ///   is not there is left out.
    mutating func replay(
        _ commits: [StoredCommit],
        _ table: (PropertyName) -> Int
    ) -> [Commit] {
        let context = self[0].context
        var (former, new) = (StoreSize(), StoreSize())
        var last = context.revisions.last
        var replayed: [Commit] = []
        replayed.reserveCapacity(commits.count)
        for stored in commits {
            precondition(
                stored.revision == last + 1,
                "Commits are replayed in the order of their revisions, without a gap."
            )
            last = stored.revision
            var first: Commit.Effect?
            var others: [Commit.Effect] = []
            for effect in stored.effects {
                let found = self[table(effect.name)].put(back: effect.property, effect.name)
                former += StoreSize(found)
                new += StoreSize(effect.property)
                let effect = Commit.Effect(from: found, to: effect.property, effect.reason)
                if first == nil {
                    first = effect
                } else if let effect {
                    others.append(effect)
                }
            }
            replayed.append(
                Commit(revision: last, time: stored.time, first: first, others: others)
            )
        }
        context.room.restore(new, beyond: former)
        context.revisions.move(to: last)
        return replayed
    }

    /// Takes back all commits behind a revision, the newest first.
    ///
    /// ``CommitContext/endTakingBack(to:_:)`` follows when readers see it.
    mutating func takeBack(after revision: Revision, _ table: (PropertyName) -> Int) {
        let context = self[0].context
        var last = context.revisions.last
        while last > revision {
            guard let commit = context.hook?.unreleasedCommits.takeBack(last) else {
                preconditionFailure("Only commits that are not released are taken back.")
            }
            var (former, new) = (StoreSize(), StoreSize())
            for effect in commit.effects {
                let name = PropertyName(of: effect.some)
                self[table(name)].undo(effect, name)
                former += StoreSize(effect.former)
                new += StoreSize(effect.property)
            }
            context.room.restore(former, beyond: new)
            last -= 1
        }
        for index in indices {
            self[index].takeBack(after: revision)
        }
        context.betweenSteps?()
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

    /// What the transaction does to the property, if it does anything.
    ///
    /// A property that was expired and is gone has expired, whatever the steps did in between.
    var effect: Commit.Effect? {
        guard isChanged else {
            return nil
        }
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
        for index in indices where self[index].isChanged {
            former += StoreSize(self[index].former)
            new += StoreSize(self[index].property)
        }
        return (former, new)
    }

    /// Whether all conditions hold.
    fileprivate func satisfy(
        _ prepared: PreparedTransaction,
        _ work: inout TransactionWork
    ) throws(Refusal) -> Bool {
        for (condition, position) in zip(prepared.transaction.conditions, prepared.conditions) {
            let property = self[position].property
            try work.take(condition.test.readByteCount(property))
            guard condition.test.holds(property) else {
                return false
            }
        }
        return true
    }

    /// Takes the steps one after the other.
    ///
    /// - Returns: for each step its result, to be settled.
    fileprivate mutating func take(
        _ steps: [Change.Step],
        _ prepared: [PreparedTransaction.Step],
        of branch: Transaction.Branch,
        at time: Timestamp,
        _ limits: StoreLimits,
        _ work: inout TransactionWork
    ) throws(Refusal) -> [Transaction.Result] {
        for index in steps.indices {
            do throws(Refusal) {
                try steps[index].check(self[prepared[index].position].property)
            } catch {
                throw .step(index, branch, error)
            }
        }
        var results: [Transaction.Result] = []
        results.reserveCapacity(steps.count)
        var shownByteCount = 0
        for index in steps.indices {
            let position = prepared[index].position
            do throws(Refusal) {
                try self[position].take(
                    steps[index],
                    prepared[index].property,
                    at: time,
                    limits,
                    &work
                )
                if steps[index].action.showsValue, let property = self[position].property {
                    shownByteCount += property.byteCount
                }
                // A short request must not ask for an answer of any length.
                guard shownByteCount / Transaction.valuesMax <= limits.valueByteCountMax else {
                    throw .valueTooLarge
                }
            } catch {
                throw .step(index, branch, error)
            }
            results.append(self[position].result)
        }
        return results
    }
}
