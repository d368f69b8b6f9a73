internal import LatchkeyAccess
internal import LatchkeyGuards
internal import LatchkeyOperations
internal import LatchkeyStore
internal import LatchkeyStrategies

extension Operations {
    /// Makes the operations of a service, whose steps use this store.
    convenience init(_ configuration: ServiceConfiguration, store: ServedStore, audit: AuditLog?) {
        var observe: (@Sendable (OperationWrite) -> Void)?
        if let audit { observe = { audit.note($0) } }
        self.init(
            limits: configuration.operationLimits,
            OperationEnvironment(
                look: { (name, completion) throws(BacklogFull) in
                    try store.look(name, .here(), completion)
                },
                commit: { (change, owner, completion) throws(BacklogFull) in
                    let author = owner.map { Array($0.utf8) }
                    try store.commit(change, author: author, completion: completion)
                },
                depthMax: configuration.storeLimits.depthMax,
                fetching: configuration.fetching,
                compare: configuration.compare,
                observe: observe,
                describe: { $0.problem }
            )
        )
    }
}
