extension Change {
    /// Whether no step stores anything: each only reads, or removes.
    ///
    /// Such a change is taken while there is little room, since it makes room.
    package var onlyRemoves: Bool {
        switch self {
        case .step(let step): step.action.onlyRemoves
        case .transaction(let transaction):
            transaction.steps.allSatisfy(\.action.onlyRemoves)
                && transaction.otherwise.allSatisfy(\.action.onlyRemoves)
        }
    }
}

extension Change.Action {
    fileprivate var onlyRemoves: Bool {
        switch self {
        case .get, .count, .delete, .expire, .evict, .deletePrefix, .pop(nil): true
        case .put, .increment, .merge, .touch, .pop: false
        }
    }
}
