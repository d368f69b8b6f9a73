extension Change {
    /// Whether a client or the store itself could have asked for the change.
    var isPossible: Bool {
        switch self {
        case .step(let step): return step.isPossible(inTransaction: false)
        case .transaction(let transaction):
            let isPlain =
                transaction.conditions.isEmpty && transaction.otherwise.isEmpty
                && !transaction.waits
            if transaction.isExpiry {
                // The expiry of one property is a plain step.
                return isPlain && transaction.steps.count > 1
                    && transaction.steps.allSatisfy(\.isExpiry)
            }
            // An import puts more properties at once than the steps of a client's transaction.
            let isImport = isPlain && transaction.steps.allSatisfy(\.action.isPut)
            return (isImport || transaction.steps.count <= Self.stepCountMax)
                && transaction.otherwise.count <= Self.stepCountMax
                && transaction.conditions.count <= Self.stepCountMax
                && transaction.conditions.allSatisfy(\.test.isPossible)
                && transaction.steps.allSatisfy { $0.isPossible(inTransaction: true) }
                && transaction.otherwise.allSatisfy { $0.isPossible(inTransaction: true) }
        }
    }
}

extension Change.Step {
    /// Whether the step removes an expired property, as the store itself asks for it.
    fileprivate var isExpiry: Bool {
        guard case .expire = action else { return false }
        return ttl == nil && conditions.ifMatch != nil
    }

    fileprivate func isPossible(inTransaction: Bool) -> Bool {
        guard ttl != nil || !isOnlyIfNew else { return false }
        switch action {
        case .put(let value), .merge(let value): return unsafe InputCheck.isValue(value)
        case .increment: return true
        case .get, .delete: return ttl == nil
        case .touch: return ttl != nil && !isOnlyIfNew
        case .expire: return !inTransaction && isExpiry
        case .evict: return !inTransaction && ttl == nil && conditions.ifMatch != nil
        case .pop(nil), .count: return inTransaction && ttl == nil && conditions == .none
        case .pop(let claim?):
            let isRight = unsafe InputCheck.isValue(claim.value.bytes)
            return inTransaction && ttl != nil && !isOnlyIfNew && conditions == .none && isRight
                && !claim.isMixed(with: name)
        case .deletePrefix(let countMax, _):
            return inTransaction && ttl == nil && conditions == .none
                && (1...Self.deletedCountMax).contains(countMax)
        }
    }
}

extension Change.Action {
    fileprivate var isPut: Bool { if case .put = self { true } else { false } }
}

extension Transaction.Test {
    fileprivate var isPossible: Bool {
        switch self {
        case .revision, .exists: true
        case .equals(let value), .compares(_, let value): unsafe InputCheck.isValue(value)
        }
    }
}
