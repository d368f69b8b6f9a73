/// The properties on their way through the steps of a transaction.
///
/// Those that the transaction names are there from the beginning. A step that takes a prefix adds
/// what it changes.
struct TransactionDrafts {
    private(set) var names: [PropertyName]
    /// For each name the position of its table.
    private(set) var positions: [Int]
    private var drafts: [Draft]
    /// The places of the names, if a step takes a prefix.
    private var places: [PropertyName: Int] = [:]
    private let time: Timestamp
    private let valueByteCountMax: Int
    private var work: TransactionWork
    /// The length of the values in the results.
    private var shownByteCount = 0

    init(_ prepared: PreparedTransaction, _ tables: [PropertyTable], at time: Timestamp) {
        names = prepared.names
        positions = prepared.tables.positions
        self.time = time
        valueByteCountMax = tables[0].context.limits.valueByteCountMax
        work = TransactionWork(tables[0].context.limits)
        drafts = []
        drafts.reserveCapacity(names.count)
        for index in names.indices {
            let former = tables[positions[index]].find(names[index], in: .stored)
            drafts.append(Draft(former, at: time))
        }
        if prepared.takesPrefixes {
            for (index, name) in names.enumerated() {
                places[name] = index
            }
        }
    }

    subscript(index: Int) -> Draft { drafts[index] }

    /// The sizes of what the steps change, before and after them.
    var changedSizes: (former: StoreSize, new: StoreSize) {
        var (former, new) = (StoreSize(), StoreSize())
        for index in drafts.indices where drafts[index].isChanged {
            former += StoreSize(drafts[index].former)
            new += StoreSize(drafts[index].property)
        }
        return (former, new)
    }

    /// By how much the steps make the quotas grow.
    func growth(_ quotas: borrowing QuotaTable) -> QuotaGrowth {
        var growth = QuotaGrowth()
        guard !quotas.isEmpty else {
            return growth
        }
        for index in drafts.indices where drafts[index].isChanged {
            let former = StoreSize(drafts[index].former)
            let new = StoreSize(drafts[index].property)
            quotas.add(new.byteCount - former.byteCount, of: names[index], to: &growth)
        }
        return growth
    }

    /// Whether all conditions hold.
    mutating func satisfy(_ prepared: PreparedTransaction) throws(Refusal) -> Bool {
        for (condition, position) in zip(prepared.transaction.conditions, prepared.conditions) {
            let property = drafts[position].property
            try work.take(condition.test.readByteCount(property))
            guard condition.test.holds(property) else {
                return false
            }
        }
        return true
    }

    /// Takes the steps of a branch one after the other.
    ///
    /// - Returns: for each step its result, to be settled.
    mutating func take(
        _ prepared: PreparedTransaction,
        _ branch: Transaction.Branch,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> [Transaction.Result] {
        let transaction = prepared.transaction
        let (steps, puts) =
            branch == .then
            ? (transaction.steps, prepared.steps) : (transaction.otherwise, prepared.otherwise)
        for index in steps.indices {
            do throws(Refusal) {
                try steps[index].check(drafts[puts[index].position].property)
            } catch {
                throw .step(index, branch, error)
            }
        }
        var results: [Transaction.Result] = []
        results.reserveCapacity(steps.count)
        for index in steps.indices {
            do throws(Refusal) {
                let result =
                    steps[index].action.takesPrefix
                    ? try takePrefix(steps[index], tables)
                    : try takeName(steps[index], puts[index])
                try show(result, of: steps[index])
                results.append(result)
            } catch {
                throw .step(index, branch, error)
            }
            if transaction.waits, case .pop = steps[index].action, results[index].property == nil {
                throw .notYet
            }
        }
        return results
    }

    private mutating func takeName(
        _ step: Change.Step,
        _ prepared: PreparedTransaction.Step
    ) throws(Refusal) -> Transaction.Result {
        try take(step, prepared.property, prepared.position)
        return drafts[prepared.position].result
    }

    private mutating func take(
        _ step: Change.Step,
        _ prepared: Property?,
        _ position: Int
    ) throws(Refusal) {
        try drafts[position].take(step, prepared, at: time, valueByteCountMax, &work)
    }

    /// A short request must not ask for an answer of any length.
    private mutating func show(
        _ result: Transaction.Result,
        of step: Change.Step
    ) throws(Refusal) {
        if step.action.showsValue, let property = result.property {
            shownByteCount += property.byteCount
        }
        guard shownByteCount / Transaction.valuesMax <= valueByteCountMax else {
            throw .valueTooLarge
        }
    }
}

// Steps that take a prefix: all tables are there.

extension TransactionDrafts {
    /// What a property that is looked at costs, besides its name.
    private static let visitByteCount = 64

    private mutating func takePrefix(
        _ step: Change.Step,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> Transaction.Result {
        switch step.action {
        case .pop(let claim): try pop(step, claim, tables)
        case .deletePrefix(let countMax, let isWhole):
            try delete(step, countMax, isWhole: isWhole, tables)
        default: try count(step, tables)
        }
    }

    /// Takes the first property of the prefix, or claims the first one that is not claimed.
    private mutating func pop(
        _ step: Change.Step,
        _ claim: Change.Claim?,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> Transaction.Result {
        var walk = try walk(step.name, tables)
        while let name = walk.next() {
            try visit(name)
            guard let claim else {
                let index = place(of: name, tables)
                let result = drafts[index].result
                try take(Change.Step(name, .delete), nil, index)
                return result
            }
            let claimName = try claim.name(for: name, under: step.name)
            guard !exists(claimName, tables) else {
                continue
            }
            let index = place(of: claimName, tables)
            let put = unsafe Change.Step(claimName, .put(claim.value.bytes), ttl: step.ttl)
            try take(put, put.prepare(), index)
            return drafts[place(of: name, tables)].result
        }
        return Transaction.Result(nil, revision: 0, created: 0, expiry: .never)
    }

    private mutating func delete(
        _ step: Change.Step,
        _ countMax: Int,
        isWhole: Bool,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> Transaction.Result {
        var walk = try walk(step.name, tables)
        var count = 0
        while let name = walk.next() {
            guard count < countMax else {
                guard !isWhole else {
                    throw .transactionTooLarge
                }
                return Transaction.Result(count: count, hasMore: true)
            }
            try visit(name)
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
        var walk = try walk(step.name, tables)
        var count = 0
        while let name = walk.next() {
            try visit(name)
            count += 1
        }
        return Transaction.Result(count: count)
    }

    /// Whether there is a property of the name now; to look is no use of it.
    private func exists(_ name: PropertyName, _ tables: [PropertyTable]) -> Bool {
        if let place = places[name] {
            return drafts[place].property != nil
        }
        let property = tables[name.stripe(of: tables.count)].find(name, in: .stored)
        return property.map { !$0.isExpired(at: time) } ?? false
    }

    private mutating func visit(_ name: PropertyName) throws(Refusal) {
        try work.take(unsafe Self.visitByteCount + name.bytes.count)
    }

    /// The place of a draft, which is made if there is none.
    private mutating func place(of name: PropertyName, _ tables: [PropertyTable]) -> Int {
        if let place = places[name] {
            return place
        }
        // All tables are there.
        let position = name.stripe(of: tables.count)
        names.append(name)
        positions.append(position)
        drafts.append(Draft(tables[position].find(name, in: .stored), at: time))
        places[name] = names.count - 1
        return names.count - 1
    }

    /// Each draft is looked at here, and passed over once where its property was.
    private mutating func walk(
        _ prefix: PropertyName,
        _ tables: [PropertyTable]
    ) throws(Refusal) -> PrefixWalk {
        try work.take(Self.visitByteCount * drafts.count)
        let changed = drafts.indices.filter { index in
            unsafe drafts[index].isChanged && names[index].bytes.begins(with: prefix.bytes)
        }
        return PrefixWalk(
            stored: MergedWalk(
                tables.lazy.map(\.order),
                prefix: unsafe OwnedBytes(copying: prefix.bytes),
                after: nil,
                at: time
            ),
            hidden: Set(changed.map { names[$0] }),
            added: changed.filter { drafts[$0].property != nil }.map { names[$0] }
        )
    }
}

/// The names of a prefix as the steps so far have left them, in their order.
private struct PrefixWalk {
    private var stored: MergedWalk
    /// Names whose properties the steps have changed.
    private let hidden: Set<PropertyName>
    /// Those of them that have a property, in their order.
    private var added: ArraySlice<PropertyName>
    private var head: PropertyName?

    init(stored: MergedWalk, hidden: Set<PropertyName>, added: [PropertyName]) {
        self.stored = stored
        self.hidden = hidden
        self.added = added.sorted { unsafe $0.bytes.precedes($1.bytes) }[...]
        advance()
    }

    mutating func next() -> PropertyName? {
        guard let head else {
            return added.popFirst()
        }
        if let first = added.first, unsafe first.bytes.precedes(head.bytes) {
            return added.popFirst()
        }
        defer { advance() }
        return head
    }

    private mutating func advance() {
        head = nil
        while head == nil, let property = stored.next() {
            let name = PropertyName(of: property)
            head = hidden.contains(name) ? nil : name
        }
    }
}

extension Change.Claim {
    /// The name of the claim on a property whose name begins with the prefix.
    fileprivate func name(
        for name: PropertyName,
        under prefix: PropertyName
    ) throws(Refusal) -> PropertyName {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: name.bytes[prefix.bytes.count...])
        let owner = unsafe OwnedBytes(copying: self.prefix.bytes, rest)
        do {
            return try unsafe PropertyName(borrowing: owner.bytes, owner: owner)
        } catch {
            throw .claimNameTooLong
        }
    }
}
