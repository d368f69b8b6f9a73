internal import LatchkeyOperations
internal import LatchkeyStore
internal import LatchkeyStrategies

extension Operations {
    /// Makes the operations of a service, whose steps use this store.
    convenience init(_ configuration: ServiceConfiguration, store: ServedStore) {
        self.init(
            limits: configuration.operationLimits,
            OperationEnvironment(
                look: { (name, completion) throws(BacklogFull) in
                    try store.look(name, CallSite(), completion)
                },
                commit: { (change, completion) throws(BacklogFull) in
                    try store.commit(change, completion: completion)
                },
                depthMax: configuration.storeLimits.depthMax,
                fetching: configuration.fetching,
                compare: configuration.compare,
                describe: { $0.problem }
            )
        )
    }
}
