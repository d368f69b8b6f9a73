// A change of several properties, decided and made over the tables that hold them.

/// The tables that hold some properties.
@usableFromInline
struct TableSelection: Sendable {
    /// The stripes of the tables, in ascending order, each once; never empty.
    @usableFromInline let stripes: [Int]
    /// For each property, the position of its table among `stripes`.
    @usableFromInline let positions: [Int]

    /// - Parameter propertyStripes: The stripe of each property.
    @usableFromInline
    init(_ propertyStripes: [Int]) {
        // A commit without effects takes a revision under some table, whichever it is.
        let stripes = propertyStripes.isEmpty ? [0] : Set(propertyStripes).sorted()
        self.stripes = stripes
        positions = propertyStripes.compactMap { stripes.firstIndex(of: $0) }
    }
}

/// A change of several steps, ready to be executed.
@usableFromInline
struct PreparedChange: Sendable {
    /// The properties that the steps name, each once, in the order of the steps.
    let names: [PropertyName]
    /// The steps; for each the property that it puts, and the position of its name.
    let steps: [(step: Change.Step, prepared: Property?, position: Int)]
    /// The tables of `names`.
    @usableFromInline let tables: TableSelection

    /// - Parameters:
    ///   - change: The change.
    ///   - stripe: The stripe of a property.
    @usableFromInline
    init(_ change: Change, stripe: (PropertyName) -> Int) {
        var names: [PropertyName] = []
        steps = change.steps.map { step in
            let position = names.firstIndex { $0 == step.name } ?? names.count
            if position == names.count {
                names.append(step.name)
            }
            return (step, step.prepare(), position)
        }
        self.names = names
        tables = TableSelection(names.map(stripe))
    }
}

extension [PropertyTable] {
    /// Decides a change and makes it in all tables, or refuses it and leaves all as they were.
    ///
    /// These are the tables that the change has selected.
    @usableFromInline
    mutating func execute(_ change: PreparedChange, at time: Timestamp) -> Decision {
        do throws(Refusal) {
            return .success(try decide(change, at: time))
        } catch {
            return .failure(error)
        }
    }

    private mutating func decide(
        _ change: PreparedChange,
        at time: Timestamp
    ) throws(Refusal) -> Commit {
        let positions = change.tables.positions
        var drafts = zip(change.names, positions).map { Draft(self[$1].get($0)) }
        for (step, _, index) in change.steps {
            try step.check(drafts[index].former)
        }
        for (step, prepared, index) in change.steps {
            try drafts[index].take(step, prepared)
        }
        let context = self[0].context
        var (former, new) = (StoreSize(), StoreSize())
        for draft in drafts {
            former += StoreSize(draft.former)
            new += StoreSize(draft.property)
        }
        try context.exchangeRoom(former, for: new)
        let changed = drafts.indices.filter { drafts[$0].isChanged }
        for index in changed {
            let draft = drafts[index]
            self[positions[index]].install(change.names[index], draft.former, draft.property)
        }
        let revision = context.revisions.next()
        for index in changed {
            self[positions[index]].stamp(
                change.names[index],
                drafts[index].property,
                created: drafts[index].created ?? revision,
                revision
            )
            self[positions[index]].noteShared(revision)
        }
        let effects = changed.compactMap { drafts[$0].effect }
        return Commit(
            revision: revision,
            time: time,
            first: effects.first,
            others: [Commit.Effect](effects.dropFirst())
        )
    }

    /// Executes a change, and says which revision the answer depends on.
    ///
    /// That of the commit, or the newest one of the properties that a refusal was decided by.
    @usableFromInline
    mutating func executeWithheld(
        _ change: PreparedChange,
        at time: Timestamp
    ) -> Withheld<Decision> {
        let decision = execute(change, at: time)
        return Withheld(decision) {
            zip(change.names, change.tables.positions).map { self[$1].revision(of: $0) }.max() ?? 0
        }
    }

    /// Makes the change of a commit that was decided elsewhere, without deciding again.
    ///
    /// `positions` has the position of the table for each effect.
    @usableFromInline
    mutating func apply(_ commit: Commit, _ positions: [Int]) {
        let context = self[0].context
        for (effect, position) in zip(commit.effects, positions) {
            let name = PropertyName(of: effect.some)
            let former = self[position].get(name)
            context.room.giveBack(StoreSize(former))
            context.room.occupy(StoreSize(effect.property))
            self[position].install(name, former, effect.property)
            self[position].noteShared(commit.revision)
        }
        let revision = context.revisions.next()
        precondition(
            revision == commit.revision,
            "Commits are applied in the order of their revisions, without a gap."
        )
    }
}

/// A property on its way through the steps of a change.
private struct Draft {
    let former: Property?
    var property: Property?
    var isChanged = false
    /// The revision that the property came into being at; nil for that of the commit.
    var created: Revision?

    init(_ former: Property?) {
        self.former = former
        property = former
        created = former?.created
    }

    var effect: Commit.Effect? { Commit.Effect(from: former, to: property, .requested) }

    mutating func take(_ step: Change.Step, _ prepared: Property?) throws(Refusal) {
        if case .check = step.action {
            return
        }
        if property == nil {
            created = nil
        }
        property = try step.property(from: property, prepared: prepared)
        isChanged = true
    }
}
