/// A property on its way through the steps of a transaction.
struct Draft {
    /// The property in the table.
    let former: Property?
    /// Whether `former` has expired.
    private let wasExpired: Bool
    private(set) var property: Property?
    private(set) var isChanged = false
    /// The revision that the property keeps; nil for that of the commit.
    private(set) var revision: Revision?
    /// The revision that the property came into being at; nil for that of the commit.
    private(set) var created: Revision?
    private(set) var expiry: Timestamp

    init(_ former: Property?, at time: Timestamp) {
        self.former = former
        wasExpired = former?.isExpired(at: time) ?? false
        property = wasExpired ? nil : former
        revision = property?.revision
        created = property?.created
        expiry = property?.expiry ?? .never
    }

    /// The effect of the transaction on the property, if there is one.
    ///
    /// A property that was expired and is gone has expired, whatever the steps did in between.
    var effect: Commit.Effect? {
        guard isChanged else {
            return nil
        }
        let reason: Commit.Reason =
            if property == nil {
                wasExpired ? .expired : .requested
            } else {
                revision == nil ? .requested : .touched
            }
        return Commit.Effect(from: former, to: property, reason)
    }

    /// Takes a step; a deletion of nothing changes nothing.
    mutating func take(
        _ step: Change.Step,
        _ prepared: Property?,
        at time: Timestamp,
        _ valueByteCountMax: Int,
        _ work: inout ChangeWork
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
        property = try step.property(
            from: property,
            prepared: prepared,
            valueByteCountMax: valueByteCountMax,
            &work
        )
        expiry = step.expiry(from: exists ? expiry : nil, at: time)
        isChanged = true
        if step.reason != .touched {
            revision = nil
        }
    }

    /// Removes the property if it was expired and has the revision of the step.
    mutating func expire(_ step: Change.Step) {
        if wasExpired, step.conditions.verdict(former?.revision) == .pass {
            isChanged = true
        }
    }

    /// The property as it is now, to be settled when the commit has got its revision.
    var result: Transaction.Result {
        Transaction.Result(
            property,
            revision: property == nil ? 0 : revision,
            created: created,
            expiry: expiry
        )
    }
}
