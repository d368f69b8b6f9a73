/// The properties on their way through the steps of a transaction.
///
/// The properties that the transaction names are there from the beginning. A step that takes a
/// prefix adds those that it changes.
struct TransactionDrafts {
    private(set) var names: [PropertyName]
    /// For each name the position of its table.
    private(set) var positions: [Int]
    private var drafts: [Draft]
    /// The places of the names, if a step takes a prefix.
    private var places: [PropertyName: Int] = [:]
    let time: Timestamp
    private let valueByteCountMax: Int
    /// The walks, at the first name of each prefix that was looked up; the tables do not change.
    var walks: [PropertyName: MergedWalk] = [:]
    var work: ChangeWork
    /// Whether a pop has passed so many names that the stripes are to be given back.
    var hasPassedNames = false
    /// The length of the values in the results.
    private var shownByteCount = 0

    init(_ prepared: PreparedTransaction, _ tables: [PropertyTable], at time: Timestamp) {
        names = prepared.names
        positions = prepared.tables.positions
        self.time = time
        valueByteCountMax = tables[0].context.limits.valueByteCountMax
        work = ChangeWork(tables[0].context)
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

    var count: Int { drafts.count }

    /// The draft of a name, if there is one.
    subscript(name: PropertyName) -> Draft? { places[name].map { drafts[$0] } }

    /// The place of a draft, which is made if there is none.
    ///
    /// `tables` are all tables.
    mutating func place(of name: PropertyName, _ tables: [PropertyTable]) -> Int {
        if let place = places[name] {
            return place
        }
        let position = name.stripe(of: tables.count)
        names.append(name)
        positions.append(position)
        drafts.append(Draft(tables[position].find(name, in: .stored), at: time))
        places[name] = names.count - 1
        return names.count - 1
    }

    /// The sizes of the properties that the steps change, before and after them.
    var changedSizes: (former: StoreSize, new: StoreSize) {
        var (former, new) = (StoreSize(), StoreSize())
        for index in drafts.indices where drafts[index].isChanged {
            former += StoreSize(drafts[index].former)
            new += StoreSize(drafts[index].property)
        }
        return (former, new)
    }

    /// The growth of the quotas by the steps.
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
            guard try work.holds(condition.test, property) else {
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
        guard !prepared.isExpiry else {
            // It has no limit: expired properties must be removed.
            for (step, put) in zip(transaction.steps, prepared.steps) {
                drafts[put.position].expire(step)
            }
            return []
        }
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
                try work.takeName()
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

    mutating func take(
        _ step: Change.Step,
        _ prepared: Property?,
        _ position: Int
    ) throws(Refusal) {
        try drafts[position].take(step, prepared, at: time, valueByteCountMax, &work)
    }

    /// A short request must not get an answer of unlimited length.
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
