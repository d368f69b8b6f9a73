// A transaction, decided and made over the tables that hold its properties.

extension [PropertyTable] {
    /// Decides a transaction and makes it in all tables, or refuses it and leaves all as they were.
    ///
    /// These are the tables that the transaction has selected.
    ///
    /// - Returns: Nil if a pop with a claim has passed names, and nothing is decided.
    mutating func execute(_ prepared: PreparedTransaction) -> Decision? {
        let time = prepared.time ?? self[0].context.clock.now()
        var drafts = TransactionDrafts(prepared, self, at: time)
        let decision: Decision
        do throws(Refusal) {
            decision = .success(try decide(prepared, &drafts, at: time))
        } catch {
            watchClaims(of: prepared)
            guard !drafts.hasPassedNames else { return nil }
            decision = .failure(error)
        }
        self[0].context.note(drafts.work)
        return decision
    }

    /// Lets all tables note the names of the queues that there are now.
    private mutating func watchClaims(of prepared: PreparedTransaction) {
        guard prepared.claimPairCount > 0,
            let pairs = self[0].context.claims.pairs(since: self[0].claimPairs.version)
        else {
            return
        }
        for index in indices {
            self[index].claimPairs = pairs
        }
    }

    private mutating func decide(
        _ prepared: PreparedTransaction,
        _ drafts: inout TransactionDrafts,
        at time: Timestamp
    ) throws(Refusal) -> Commit {
        let context = self[0].context
        try drafts.work.check(claimPairCount: prepared.claimPairCount)
        let succeeded = try drafts.satisfy(prepared)
        guard succeeded || !prepared.transaction.waits else {
            throw .notYet
        }
        var results = try drafts.take(prepared, succeeded ? .then : .otherwise, self)
        watchClaims(of: prepared)
        let (former, new) = drafts.changedSizes
        let growth = drafts.growth(context.quotas)
        try context.takeRoom(for: new, beyond: former, growth)
        let hasEffect = former.propertyCount + new.propertyCount > 0
        let revision =
            hasEffect
            ? context.nextRevision(givingBack: former, beyond: new, growth)
            : context.revisions.last
        var first: Commit.Effect?
        var others: [Commit.Effect] = []
        for index in drafts.names.indices {
            guard let effect = drafts[index].effect else {
                continue
            }
            let (name, position) = (drafts.names[index], drafts.positions[index])
            self[position].install(name, effect.former, effect.property)
            self[position].stamp(
                name,
                effect.property,
                changed: drafts[index].revision,
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
        // An expiry that is not made is not a use of the property.
        for index in drafts.names.indices
        where !drafts[index].isChanged && !prepared.isExpiry {
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
    /// That is the commit's revision, or the newest one of the properties that a refusal was
    /// decided by.
    ///
    /// - Returns: Nil if a pop with a claim has passed names, and nothing is decided.
    mutating func execute(
        _ prepared: PreparedTransaction,
        takenByteCount: Int
    ) -> Withheld<Decision>? {
        guard let decision = execute(prepared) else { return nil }
        let context = self[0].context
        return Withheld(decision, context, takenByteCount) {
            // A prefix can have any names: the decision depends on all commits.
            prepared.takesPrefixes
                ? context.revisions.last
                : zip(prepared.names, prepared.tables.positions)
                    .map { self[$1].revision(of: $0) }.max() ?? 0
        }
    }

    /// Makes the change of a commit that was decided elsewhere, without deciding again.
    ///
    /// `positions` has the position of the table for each effect.
    mutating func apply(_ commit: Commit, _ positions: [Int]) {
        let context = self[0].context
        var formerSize = StoreSize()
        for (effect, position) in zip(commit.effects, positions) {
            let name = PropertyName(of: effect.some)
            let former = self[position].find(name, in: .stored)
            formerSize += StoreSize(former)
            context.room.occupy(StoreSize(effect.property))
            context.quotas.replace(former, by: effect.property, name)
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
    /// Puts back properties of an earlier process.
    ///
    /// `table` has the position of the table of a name.
    mutating func load(_ properties: [Property], _ table: (PropertyName) -> Int) {
        var (former, new) = (StoreSize(), StoreSize())
        for property in properties {
            let name = PropertyName(of: property)
            let found = self[table(name)].put(back: property, name)
            former += StoreSize(found)
            new += StoreSize(property)
            self[0].context.quotas.replace(found, by: property, name)
        }
        self[0].context.room.restore(new, beyond: former)
    }

    /// Replaces all properties by these.
    ///
    /// `table` has the position of the table of a name.
    mutating func replace(with properties: [Property], _ table: (PropertyName) -> Int) {
        var former = StoreSize()
        for index in indices {
            former += self[index].removeAll()
        }
        self[0].context.room.restore(StoreSize(), beyond: former)
        load(properties, table)
    }

    /// Makes the changes of commits that were made before, in the order of their revisions.
    ///
    /// - Returns: The commits, with the former properties that are found here. The removal of a
    ///   missing property is left out.
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
                stored.revision > last,
                "Commits are replayed in the order of their revisions."
            )
            last = stored.revision
            var first: Commit.Effect?
            var others: [Commit.Effect] = []
            for effect in stored.effects {
                let found = self[table(effect.name)].put(back: effect.property, effect.name)
                former += StoreSize(found)
                new += StoreSize(effect.property)
                context.quotas.replace(found, by: effect.property, effect.name)
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
        return replayed
    }
}
