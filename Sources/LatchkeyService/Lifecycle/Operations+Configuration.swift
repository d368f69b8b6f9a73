internal import LatchkeyOperations
internal import LatchkeyStore

extension Operations {
    /// Makes the operations of a service, whose steps use this store.
    convenience init(_ configuration: ServiceConfiguration, store: some CommittingStore) {
        self.init(
            limits: configuration.operationLimits,
            OperationEnvironment(
                store: store,
                depthMax: configuration.storeLimits.depthMax,
                fetching: configuration.fetching,
                compare: configuration.compare,
                describe: { $0.problem }
            )
        )
    }
}
