/// The properties whose names hash to one stripe, and the ways to look at and to change them.
///
/// This is the value that a strategy guards.
///
/// **Deciding is deterministic.** What a change does follows from the table, the change, the time
/// that it is given, and the room and revisions of the store: no clock, no randomness, no order of
/// iteration of its own. Every operation decides first and changes after: whatever it refuses, the
/// table is as before.
@usableFromInline
package struct PropertyTable: Sendable {
    private var byName = NameTable()
    private(set) var order = NameOrder()
    private var deletions = WithheldDeletions()
    private let context: CommitContext

    init(context: CommitContext) {
        self.context = context
    }

    var count: Int { byName.count }

    @usableFromInline
    package func get(_ name: PropertyName) -> Property? {
        byName.find(name)
    }

    /// Decides a change and makes it, or refuses it.
    @usableFromInline
    mutating func execute(_ prepared: PreparedChange, at time: Timestamp) -> Decision {
        do throws(Refusal) {
            return .success(
                prepared.others.isEmpty
                    ? try executeOne(prepared.first, at: time)
                    : try executeSeveral(prepared, at: time)
            )
        } catch {
            return .failure(error)
        }
    }

    private mutating func executeOne(
        _ prepared: PreparedStep,
        at time: Timestamp
    ) throws(Refusal) -> Commit {
        let step = prepared.step
        let former = byName.find(step.name)
        try step.check(former)
        if case .check = step.action {
            return Commit(revision: context.revisions.next(), time: time, first: nil)
        }
        let property = try step.property(from: former, prepared: prepared.property)
        try exchangeRoom(StoreSize(former), for: StoreSize(property))
        install(step.name, former, property)
        let revision = context.revisions.next()
        stamp(step.name, property, created: former?.created ?? revision, revision)
        let effect = Commit.Effect(from: former, to: property, .requested)
        return Commit(revision: revision, time: time, first: effect)
    }

    private mutating func executeSeveral(
        _ prepared: PreparedChange,
        at time: Timestamp
    ) throws(Refusal) -> Commit {
        var drafts: [Draft] = []
        for step in prepared.all.map(\.step) {
            let former = byName.find(step.name)
            try step.check(former)
            if !drafts.contains(where: { $0.name == step.name }) {
                drafts.append(Draft(step.name, former))
            }
        }
        for prepared in prepared.all {
            for index in drafts.indices where drafts[index].name == prepared.step.name {
                try drafts[index].take(prepared)
            }
        }
        var (former, new) = (StoreSize(), StoreSize())
        for draft in drafts {
            former += StoreSize(draft.former)
            new += StoreSize(draft.property)
        }
        try exchangeRoom(former, for: new)
        for draft in drafts where draft.isChanged {
            install(draft.name, draft.former, draft.property)
        }
        let revision = context.revisions.next()
        let effects = drafts.filter(\.isChanged).compactMap { draft in
            let created = draft.isNew ? revision : draft.former?.created ?? revision
            stamp(draft.name, draft.property, created: created, revision)
            return Commit.Effect(from: draft.former, to: draft.property, .requested)
        }
        return Commit(
            revision: revision,
            time: time,
            first: effects.first,
            others: Array(effects.dropFirst())
        )
    }

    private func exchangeRoom(_ former: StoreSize, for new: StoreSize) throws(Refusal) {
        do {
            try context.room.exchange(former, for: new)
        } catch {
            throw .full(error)
        }
    }

    /// Puts a property in the place of the former one.
    private mutating func install(_ name: PropertyName, _ former: Property?, _ property: Property?)
    {
        switch (former, property) {
        case (nil, nil):
            break
        case (nil, .some(let property)):
            _ = byName.set(property, for: name)
            order.insert(property)
        case (.some, .some(let property)):
            _ = byName.set(property, for: name)
            order.replace(property)
        case (.some, nil):
            order.remove(name)
            _ = byName.remove(name)
        }
    }

    /// Stamps a property that is installed, or remembers that there is none.
    private mutating func stamp(
        _ name: PropertyName,
        _ property: Property?,
        created: Revision,
        _ revision: Revision
    ) {
        if let property {
            property.assign(revision: revision, created: created)
        } else {
            noteDeletion(name, revision)
        }
    }

    /// Removes all properties, if there are any.
    @usableFromInline
    mutating func evict(at time: Timestamp) -> Commit? {
        guard count > 0 else {
            return nil
        }
        let effects = properties.compactMap { Commit.Effect(from: $0, to: nil, .evicted) }
        var size = StoreSize()
        for effect in effects {
            size += StoreSize(effect.former)
        }
        context.room.giveBack(size)
        byName = NameTable()
        order = NameOrder()
        let revision = context.revisions.next()
        if context.hook != nil {
            for effect in effects {
                noteDeletion(PropertyName(of: effect.some), revision)
            }
        }
        return Commit(
            revision: revision,
            time: time,
            first: effects.first,
            others: Array(effects.dropFirst())
        )
    }

    /// Makes the change of a commit that was decided elsewhere, without deciding again.
    @usableFromInline
    mutating func apply(_ commit: Commit) {
        for effect in commit.effects {
            let name = PropertyName(of: effect.some)
            let former = byName.find(name)
            context.room.giveBack(StoreSize(former))
            context.room.occupy(StoreSize(effect.property))
            install(name, former, effect.property)
        }
        let revision = context.revisions.next()
        precondition(
            revision == commit.revision,
            "Commits are applied in the order of their revisions, without a gap."
        )
    }

    /// All properties in the order of their names.
    private var properties: [Property] {
        var walk = unsafe order.walk(
            from: UnsafeRawBufferPointer(start: nil, count: 0),
            including: true
        )
        var properties: [Property] = []
        properties.reserveCapacity(count)
        while let property = walk.next() {
            properties.append(property)
        }
        return properties
    }

    /// A hash of the properties, their revisions included, that is the same in every process.
    ///
    /// The sum over the properties, so that it does not depend on how they are spread over tables.
    var digest: UInt64 {
        properties.reduce(0) { $0 &+ $1.digest }
    }
}

extension PropertyTable {
    private mutating func noteDeletion(_ name: PropertyName, _ revision: Revision) {
        if let hook = context.hook {
            deletions.add(name, revision, released: hook.released)
        }
    }

    /// The revision at which the name got the property that it has, or lost it.
    ///
    /// 0 if there is none and every deletion is released.
    func revision(of name: PropertyName) -> Revision {
        byName.find(name)?.revision ?? deletions.revision(of: name)
    }

    /// What a read of the name finds, and the revision that it depends on.
    @usableFromInline
    func find(_ name: PropertyName) -> Withheld<Property?> {
        Withheld(value: byName.find(name), revision: revision(of: name))
    }

    /// Executes a change, and says which revision the answer depends on.
    ///
    /// That of the commit, or the newest one that a refusal was decided by.
    @usableFromInline
    mutating func executeWithheld(
        _ prepared: PreparedChange,
        at time: Timestamp
    ) -> Withheld<Decision> {
        let decision = execute(prepared, at: time)
        if case .success(let commit) = decision {
            return Withheld(value: decision, revision: commit.revision)
        }
        let revisions = prepared.all.map { revision(of: $0.step.name) }
        return Withheld(value: decision, revision: revisions.max() ?? 0)
    }
}

/// A property on its way through the steps of a change.
private struct Draft {
    let name: PropertyName
    let former: Property?
    var property: Property?
    var isChanged = false
    /// Whether the property came into being on the way.
    var isNew = false

    init(_ name: PropertyName, _ former: Property?) {
        self.name = name
        self.former = former
        property = former
    }

    mutating func take(_ prepared: PreparedStep) throws(Refusal) {
        if case .check = prepared.step.action {
            return
        }
        let next = try prepared.step.property(from: property, prepared: prepared.property)
        isNew = isNew || property == nil
        property = next
        isChanged = true
    }
}
