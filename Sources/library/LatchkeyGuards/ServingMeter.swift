package import LatchkeyContention
internal import LatchkeyStrategies
package import LatchkeySync

extension ContentionMeters {
    /// The meter of a strategy that serves, or is about to, with the cost of metering it.
    ///
    /// It is made when the strategy is first asked for, which takes some milliseconds, and kept.
    package func serving(
        _ strategy: StrategyKind,
        level: MeteringLevel,
        profile: ContentionProfile? = nil
    ) -> ContentionMeter {
        serving(strategy) {
            let traits = strategy.traits
            let meter = ContentionMeter(
                strategy: strategy.rawValue,
                traits: traits,
                level: level,
                profile: profile
            )
            if traits.blocksCaller {
                meter.overhead = .measure(strategy, level: level)
            }
            return meter
        }
    }
}

extension MeteringOverhead {
    /// Measures for about five milliseconds, on the calling thread.
    ///
    /// Two counters of their own are incremented, so that no report shows the measurement. The
    /// strategy must be one that blocks.
    package static func measure(
        _ strategy: StrategyKind,
        level: MeteringLevel
    ) -> MeteringOverhead {
        let meter = ContentionMeter(
            strategy: strategy.rawValue,
            traits: strategy.traits,
            level: level
        )
        func counter(_ settings: GuardSettings) -> (Int) -> Void {
            let stripes = Stripes(count: 1, settings) { _ in 0 }
            let ask = Ask.here()
            return { count in
                for _ in 0..<count { stripes.write(0, ask, { $0 &+= 1 }, published: {}) }
            }
        }
        return measure(
            strategy.rawValue,
            unmetered: counter(GuardSettings(strategy)),
            metered: counter(GuardSettings(strategy, meter: { _ in meter }))
        )
    }
}
