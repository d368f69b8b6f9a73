internal import LatchkeyContention
internal import LatchkeyStore
internal import LatchkeySync

/// Makes the shadow store of a strategy, and its meter.
struct ShadowMaker: StrategyVisitor {
    let configuration: ServiceConfiguration
    let meters: ContentionMeters
    let servingUsage: @Sendable () -> StoreUsage

    func visit<Guard: NamedStrategy>(_ strategy: Guard.Type) -> AnyShadowStore {
        make(strategy, overhead: nil)
    }

    func visitBlocking<Guard: NamedStrategy & BlockingStrategy>(
        _ strategy: Guard.Type
    ) -> AnyShadowStore {
        make(
            strategy,
            overhead: MeteringOverhead.measure(strategy, level: configuration.metering)
        )
    }

    private func make<Guard: NamedStrategy>(
        _ strategy: Guard.Type,
        overhead: MeteringOverhead?
    ) -> AnyShadowStore {
        let backlogMax = configuration.backlogMax
        let stripeCount = configuration.stripeCount(strategy)
        let meter = ContentionMeter(strategy, role: .shadow, level: configuration.metering)
        meter.overhead = overhead
        let store = PropertyStore(
            limits: configuration.storeLimits,
            stripeCount: stripeCount,
            strategy: { meter.metered(Guard(backlogMax: backlogMax)) }
        )
        let refusals = RefusalCount()
        meter.observeBacklog { store.backlogCount }
        meter.observeShadow(interval: configuration.shadowInterval) { refusals.value }
        meters.add(meter)
        return ShadowStore(
            store,
            servingUsage: servingUsage,
            stripeCount: stripeCount,
            backlogMax: backlogMax,
            refusals: refusals
        ).shadow
    }
}

extension ServiceConfiguration {
    /// An actor has one stripe, because holding several actors costs a task for each.
    func stripeCount<Guard: Strategy>(_ strategy: Guard.Type) -> Int {
        strategy.name == StrategyKind.actor.rawValue ? 1 : stripeCount
    }
}
