/// The properties whose names hash to one stripe, and the ways to look at and to change them.
///
/// This is the value that a strategy guards.
///
/// **Deciding is deterministic.** The effect of a change follows from the table, the change, the
/// time, and the room and revisions of the store. It uses no randomness and no order of iteration.
/// Every operation decides first and changes afterwards, so a refusal leaves the table as it was.
///
/// **Expiry.** For readers and changes, an expired property does not exist, even before a commit
/// removes it. The time is read inside the guarded section: after a reader has missed an expired
/// property, no change finds it.
package struct PropertyTable: Sendable {
    private var byName = NameTable()
    private(set) var order = NameOrder()
    private(set) var mortals = ExpiryOrder()
    private var traces = WithheldTraces()
    /// The revision of the latest commit over several tables that changed this one.
    ///
    /// 0 if there is none.
    private var sharedRevision: Revision = 0
    /// Set while all tables are held.
    var claimPairs = ClaimPairs()
    let context: CommitContext

    init(context: CommitContext) {
        self.context = context
    }

    var count: Int { byName.count }

    /// Finds a property in a scope.
    func find(_ name: PropertyName, in scope: PropertyScope) -> Property? {
        guard let property = byName.find(name) else {
            return nil
        }
        if scope == .live {
            guard !property.isExpired(context.clock) else {
                return nil
            }
            context.noteUse(property)
        }
        return property
    }

    /// As ``find(_:in:)``, for a reader that can enter while a commit is being published.
    ///
    /// Tables are published one after the other. A reader that finds one of them waits until the
    /// whole commit can be seen: another table could still show the state before it.
    func findPublished(_ name: PropertyName, in scope: PropertyScope) -> Property? {
        // Otherwise the latest revision, which every commit writes, is not read.
        if sharedRevision != 0 {
            context.revisions.waitUntilPublished(sharedRevision)
        }
        return find(name, in: scope)
    }

    /// Decides a change of one step and makes it, or refuses it.
    ///
    /// `prepared` is the property of a put. Without a time, it is the time of the store's clock.
    mutating func execute(
        _ step: Change.Step,
        _ prepared: Property?,
        at time: Timestamp?
    ) -> Decision {
        do throws(Refusal) {
            return .success(try decide(step, prepared, at: time ?? context.clock.now()))
        } catch {
            return .failure(error)
        }
    }

    private mutating func decide(
        _ step: Change.Step,
        _ prepared: Property?,
        at time: Timestamp
    ) throws(Refusal) -> Commit {
        let place = byName.place(of: step.name)
        let former = byName[place]
        let current = try step.current(former, at: time)
        try step.check(current)
        switch step.action {
        case .get: return Commit(revision: context.revisions.last, time: time, first: nil)
        case .delete where current == nil: throw .missing
        default: break
        }
        var work = ChangeWork(context, isSingle: true)
        defer { context.note(work) }
        let property = try step.property(
            from: current,
            prepared: prepared,
            valueByteCountMax: context.limits.valueByteCountMax,
            &work
        )
        let (formerSize, size) = (StoreSize(former), StoreSize(property))
        try context.takeRoom(for: size, beyond: formerSize, of: step.name)
        install(step.name, former, property, at: place)
        let revision = context.nextRevision(
            givingBack: formerSize,
            beyond: size,
            of: step.name
        )
        stamp(
            step.name,
            property,
            changed: step.reason == .touched ? current?.revision : nil,
            created: current?.created ?? revision,
            expiry: step.expiry(from: current?.expiry, at: time),
            revision
        )
        let effect = Commit.Effect(from: former, to: property, step.reason)
        return Commit(revision: revision, time: time, first: effect)
    }

    /// Puts a property in the place of the former one.
    ///
    /// A property that is not stamped yet becomes a mortal when it is.
    mutating func install(_ name: PropertyName, _ former: Property?, _ property: Property?) {
        install(name, former, property, at: byName.place(of: name))
    }

    /// The same for a name whose place is known.
    private mutating func install(
        _ name: PropertyName,
        _ former: Property?,
        _ property: Property?,
        at place: NameTable.Place
    ) {
        switch (former, property) {
        case (let former?, let property?):
            byName.replace(property, at: place) { order.replace(former, by: property, $0) }
        case (nil, let property?):
            byName.insert(property, for: name, at: place)
            order.insert(property)
        case (let former?, nil):
            order.remove(former)
            byName.remove(at: place)
        case (nil, nil):
            break
        }
        if let former, former.isMortal { mortals.remove(former) }
        if let property, property.isMortal { mortals.insert(property) }
        if !claimPairs.all.isEmpty, claimPairs.concern(name) {
            context.claims.note(name, former, property)
        }
    }

    /// Stamps a property that is installed, and remembers the commit if no property shows its
    /// revision.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - property: The property; nil if there is none.
    ///   - changed: The revision that the property keeps; nil for that of the commit.
    ///   - created: The revision at which it came into being.
    ///   - expiry: When it expires.
    ///   - revision: The revision of the commit.
    mutating func stamp(
        _ name: PropertyName,
        _ property: Property?,
        changed: Revision?,
        created: Revision,
        expiry: Timestamp,
        _ revision: Revision
    ) {
        if let property {
            property.assign(revision: changed ?? revision, created: created, expiry: expiry)
            if property.isMortal { mortals.insert(property) }
            context.noteUse(property)
        }
        if property == nil || changed != nil {
            noteTrace(name, revision)
        }
    }

    /// Removes all properties without a commit, and returns their size.
    mutating func removeAll() -> StoreSize {
        var size = StoreSize()
        order.visit { property in
            size += StoreSize(property)
            context.quotas.replace(property, by: nil, PropertyName(of: property))
        }
        byName = NameTable()
        order = NameOrder()
        mortals = ExpiryOrder()
        context.claims.forget()
        return size
    }

    /// Remembers that a commit over several tables changed this one.
    ///
    /// Also while readers wait for writers: the strategy can be switched.
    mutating func noteShared(_ revision: Revision) {
        sharedRevision = revision
    }
}

extension PropertyTable {
    private mutating func noteTrace(_ name: PropertyName, _ revision: Revision) {
        if let hook = context.hook {
            traces.add(name, revision, released: hook.released)
        }
    }

    /// The revision of the latest commit that a read of the name depends on.
    ///
    /// 0 if there is no property and every deletion is released.
    func revision(of name: PropertyName) -> Revision {
        max(byName.find(name)?.revision ?? 0, traces.revision(of: name))
    }

    /// The result of a read of the name, and the revision that it depends on.
    func findWithheld(_ name: PropertyName, in scope: PropertyScope) -> Withheld<Property?> {
        let property = findPublished(name, in: scope)
        // An expired property is not found, but its revision counts.
        let own = property?.revision ?? byName.find(name)?.revision ?? 0
        return Withheld(property, max(own, traces.revision(of: name)))
    }

    /// Executes a change of one step, and says which revision the answer depends on.
    ///
    /// That is the commit's revision, or the newest one that a refusal was decided by.
    mutating func execute(
        _ step: Change.Step,
        _ prepared: Property?,
        at time: Timestamp?,
        takenByteCount: Int
    ) -> Withheld<Decision> {
        let decision = execute(step, prepared, at: time)
        return Withheld(decision, context, takenByteCount) { revision(of: step.name) }
    }
}

extension Withheld<Decision> {
    /// The answer to a change; a refusal depends on the revision that it was decided by.
    ///
    /// Made inside the guarded section. Without a hook it depends on nothing.
    init(
        _ decision: Decision,
        _ context: CommitContext,
        _ takenByteCount: Int,
        decidedBy revision: () -> Revision
    ) {
        guard let hook = context.hook else {
            self.init(decision, 0)
            return
        }
        hook.keep(decision, takenByteCount: takenByteCount)
        switch decision {
        case .success(let commit): self.init(decision, commit.revision)
        case .failure: self.init(decision, revision())
        }
    }
}

extension PropertyTable {
    /// Puts back a property of an earlier process.
    ///
    /// - Returns: The one that was there.
    mutating func put(back property: Property?, _ name: PropertyName) -> Property? {
        let place = byName.place(of: name)
        let former = byName[place]
        install(name, former, property, at: place)
        if let property {
            context.noteUse(property)
        }
        return former
    }
}

/// The properties that a look finds.
package enum PropertyScope: Sendable {
    /// Properties that are served. A look that finds one is a use of it.
    case live
    /// Also expired properties: they are stored until a commit removes them.
    ///
    /// Such a look is not a use.
    case stored
}
