internal import LatchkeyContention
internal import LatchkeyStore
internal import LatchkeyStrategies

/// Makes the shadow store of a strategy, and its meter.
struct ShadowMaker: StrategyVisitor {
    let configuration: ServiceConfiguration
    let meters: ContentionMeters
    let servingUsage: @Sendable () -> StoreUsage

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> AnyShadowStore
    {
        make(strategy, overhead: nil)
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> AnyShadowStore {
        make(
            strategy,
            overhead: MeteringOverhead.measure(strategy, level: configuration.metering)
        )
    }

    private func make<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type,
        overhead: MeteringOverhead?
    ) -> AnyShadowStore {
        let backlogMax = configuration.backlogMax
        let stripeCount = configuration.stripeCount(strategy)
        // As many of its accesses are timed as of the serving strategy's, of which it gets a share.
        let meter = ContentionMeter(
            strategy,
            role: .shadow,
            level: configuration.metering,
            samplingMean: max(
                1,
                MeteringLevel.samplingMeanDefault / configuration.shadowInterval
            )
        )
        meter.overhead = overhead
        // Counted as in the serving store, but never full: a shadow keeps properties that were
        // deleted outside a sample.
        var limits = configuration.storeLimits
        for index in limits.quotas.indices {
            limits.quotas[index].byteCountMax = .max
        }
        let store = PropertyStore(
            limits: limits,
            stripeCount: stripeCount,
            strategy: { meter.metered(ChosenStrategy(backlogMax: backlogMax)) }
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
    /// One for a strategy that prefers it: an actor.
    func stripeCount<ChosenStrategy: Strategy>(_ strategy: ChosenStrategy.Type) -> Int {
        strategy.traits.prefersOneStripe ? 1 : stripeCount
    }
}
