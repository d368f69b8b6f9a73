// Steps that take a prefix: all tables are there.

extension TransactionDrafts {
    mutating func takePrefix(
        _ step: Change.Step,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> Transaction.Result {
        switch step.action {
        case .pop(let claim?) where work.rules >= .second:
            try popUnclaimed(step, claim, tables)
        case .pop(let claim): try pop(step, claim, tables)
        case .deletePrefix(let countMax, let isWhole):
            try delete(step, countMax, isWhole: isWhole, tables)
        default: try count(step, tables)
        }
    }

    /// Takes the first property of the prefix.
    ///
    /// By the first rules, also claims the first one that is not claimed.
    private mutating func pop(
        _ step: Change.Step,
        _ claim: Change.Claim?,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> Transaction.Result {
        var walk = try walk(step.name, tables)
        while let name = try walk.next(&work) {
            guard let claim else {
                try work.delete(name)
                let index = place(of: name, tables)
                let result = self[index].result
                try take(Change.Step(name, .delete), nil, index)
                return result
            }
            try work.visit(name)
            let claimName = try claim.name(for: name, under: step.name)
            guard !exists(claimName, tables) else {
                continue
            }
            return try make(claim, claimName, on: name, step, tables)
        }
        return .nothing
    }

    /// Claims the first property of the prefix that has no claim.
    ///
    /// An expired claim is valid until a commit removes it: so the state alone decides where the
    /// unclaimed names begin, and ``ClaimQueues`` remembers it.
    private mutating func popUnclaimed(
        _ step: Change.Step,
        _ claim: Change.Claim,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> Transaction.Result {
        let changed = changed { name in
            unsafe name.bytes.begins(with: step.name.bytes)
                || name.bytes.begins(with: claim.prefix.bytes)
        }
        try work.beginWalk(drafts: count, changed: changed.count)
        let pair = ClaimPair(prefix: step.name, claim: claim.prefix)
        // If a step has removed a claim, its property can be the first.
        let drafted = changed.map { pair.claimed(by: $0) ?? $0 }
            .sorted { unsafe $0.bytes.precedes($1.bytes) }
            .first { isFree($0, pair, tables) }
        let found = tables[0].context.claims.firstFree(pair, tables, at: time) { name in
            isFree(name, pair, tables)
        }
        var first = drafted
        switch found {
        case .name(let stored):
            if drafted.map({ unsafe stored.bytes.precedes($0.bytes) }) ?? true {
                first = stored
            }
        case .nothing: break
        case .unknown:
            hasPassedNames = true
            throw .transactionTooLarge
        }
        guard let name = first else {
            return .nothing
        }
        let claimName = try claim.name(for: name, under: step.name)
        return try make(claim, claimName, on: name, step, tables)
    }

    private mutating func make(
        _ claim: Change.Claim,
        _ claimName: PropertyName,
        on name: PropertyName,
        _ step: Change.Step,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> Transaction.Result {
        let index = place(of: claimName, tables)
        let put = unsafe Change.Step(claimName, .put(claim.value.bytes), ttl: step.ttl)
        try take(put, put.prepare(), index)
        let claimed = place(of: name, tables)
        return self[claimed].result
    }

    /// Whether the property exists now and has no claim.
    ///
    /// A property whose claim would have too long a name is free, and refuses the step.
    private func isFree(
        _ name: PropertyName,
        _ pair: ClaimPair,
        _ tables: [PropertyTable]
    ) -> Bool {
        guard exists(name, tables) else {
            return false
        }
        guard let claim = pair.claim(on: name) else {
            return true
        }
        if let draft = self[claim], draft.isChanged {
            return draft.property == nil
        }
        return tables[claim.stripe(of: tables.count)].find(claim, in: .stored) == nil
    }

    private mutating func delete(
        _ step: Change.Step,
        _ countMax: Int,
        isWhole: Bool,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> Transaction.Result {
        var walk = try walk(step.name, tables)
        var count = 0
        while let name = try walk.next(&work) {
            guard count < countMax else {
                guard !isWhole else {
                    throw .transactionTooLarge
                }
                return Transaction.Result(count: count, hasMore: true)
            }
            try work.delete(name)
            count += 1
            let index = place(of: name, tables)
            try take(Change.Step(name, .delete), nil, index)
        }
        return Transaction.Result(count: count)
    }

    private mutating func count(
        _ step: Change.Step,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> Transaction.Result {
        guard work.rules >= .second else {
            var walk = try walk(step.name, tables)
            var count = 0
            while let name = try walk.next(&work) {
                try work.visit(name)
                count += 1
            }
            return Transaction.Result(count: count)
        }
        let prefix = unsafe step.name.bytes
        let changed = changed { unsafe $0.bytes.begins(with: prefix) }
        try work.beginWalk(drafts: self.count, changed: changed.count)
        // The count is known before the visits.
        var storedCount = 0
        var orders: [NameOrder] = []
        for table in tables where storedCount <= work.passableCount {
            let found = unsafe table.order.count(prefix: prefix, max: work.passableCount)
            storedCount += found
            if found > 0 {
                orders.append(table.order)
            }
        }
        try work.pass(storedCount)
        var count = 0
        for order in orders {
            var place = unsafe order.position(of: prefix)
            while let property = order[place], unsafe property.nameBytes.begins(with: prefix) {
                count += property.isExpired(at: time) ? 0 : 1
                place = order.position(after: place)
            }
        }
        for name in changed {
            guard let draft = self[name] else { continue }
            let former = draft.former.map { !$0.isExpired(at: time) } ?? false
            count += (draft.property == nil ? 0 : 1) - (former ? 1 : 0)
        }
        return Transaction.Result(count: count)
    }

    /// Whether there is a property of the name now; the look is not a use of it.
    private func exists(_ name: PropertyName, _ tables: [PropertyTable]) -> Bool {
        if let draft = self[name] {
            return draft.property != nil
        }
        let property = tables[name.stripe(of: tables.count)].find(name, in: .stored)
        return property.map { !$0.isExpired(at: time) } ?? false
    }

    /// The names whose properties the steps have changed.
    private func changed(where isWanted: (PropertyName) -> Bool) -> [PropertyName] {
        names.indices.filter { self[$0].isChanged && isWanted(names[$0]) }.map { names[$0] }
    }

    /// Each draft is looked at here, and skipped once at the place of its property.
    private mutating func walk(
        _ prefix: PropertyName,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> PrefixWalk {
        let changed = changed { unsafe $0.bytes.begins(with: prefix.bytes) }
        try work.beginWalk(
            drafts: count,
            changed: changed.count,
            isKnown: walks[prefix] != nil
        )
        let stored =
            walks[prefix]
            ?? MergedWalk(
                tables,
                prefix: unsafe OwnedBytes(copying: prefix.bytes),
                after: nil,
                at: Timestamp(milliseconds: .min)
            )
        walks[prefix] = stored
        return PrefixWalk(
            stored: stored,
            time: time,
            hidden: Set(changed),
            added: changed.filter { self[$0]?.property != nil }
        )
    }
}

/// The names of a prefix as the steps so far have left them, in their order.
private struct PrefixWalk {
    /// With expired properties: they are passed, too.
    private var stored: MergedWalk
    private let time: Timestamp
    /// Names whose properties the steps have changed.
    private let hidden: Set<PropertyName>
    /// The changed names that have a property, in their order.
    private var added: ArraySlice<PropertyName>
    private var head: PropertyName?

    init(
        stored: MergedWalk,
        time: Timestamp,
        hidden: Set<PropertyName>,
        added: [PropertyName]
    ) {
        self.stored = stored
        self.time = time
        self.hidden = hidden
        self.added = added.sorted { unsafe $0.bytes.precedes($1.bytes) }[...]
    }

    mutating func next(_ work: inout ChangeWork) throws(Refusal) -> PropertyName? {
        if head == nil {
            try advance(&work)
        }
        guard let head else {
            return added.popFirst()
        }
        if let first = added.first, unsafe first.bytes.precedes(head.bytes) {
            return added.popFirst()
        }
        self.head = nil
        return head
    }

    private mutating func advance(_ work: inout ChangeWork) throws(Refusal) {
        while head == nil, let property = stored.next() {
            try work.pass(1)
            let name = PropertyName(of: property)
            head = property.isExpired(at: time) || hidden.contains(name) ? nil : name
        }
    }
}

extension Transaction.Result {
    /// The result of a pop that finds nothing.
    fileprivate static let nothing = Self(nil, revision: 0, created: 0, expiry: .never)
}

extension Change.Claim {
    /// The name of the claim on a property whose name begins with the prefix.
    fileprivate func name(
        for name: PropertyName,
        under prefix: PropertyName
    ) throws(Refusal) -> PropertyName {
        let pair = ClaimPair(prefix: prefix, claim: self.prefix)
        guard let name = pair.claim(on: name) else {
            throw .claimNameTooLong
        }
        return name
    }
}
