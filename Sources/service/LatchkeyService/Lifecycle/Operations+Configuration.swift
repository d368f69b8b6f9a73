internal import LatchkeyAccess
internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyOperations
internal import LatchkeyStore
internal import LatchkeyStrategies

extension Operations {
    /// Makes the operations of a service, whose steps use this store.
    convenience init(
        _ configuration: ServiceConfiguration,
        store: ServedProperties,
        audit: AuditLog?,
        in frame: ServiceFrame
    ) {
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
        OperationMetrics.register(self, in: frame.registry)
        let limits = configuration.operationLimits
        frame.bounds.add("max-operations", limits.countMax) { [self] in
            counts.count { !$0.isFinal }
        }
        frame.bounds.add("operation-history", limits.historyCountMax, .forgets) { [self] in
            counts.count { $0.isFinal }
        }
        // Values of ended operations are forgotten first.
        frame.bounds.add("max-operation-bytes", limits.byteCountMax, .forgets) { [self] in
            byteCount
        }
        frame.closing.at(.operations) { [self] time, _ in
            drain(within: min(time, .milliseconds(200)))
        }
    }
}

extension OperationCounts {
    /// How many operations are in one of these states.
    fileprivate func count(_ isCounted: (OperationState) -> Bool) -> Int {
        byState.reduce(0) { $0 + (isCounted($1.key) ? $1.value : 0) }
    }
}
