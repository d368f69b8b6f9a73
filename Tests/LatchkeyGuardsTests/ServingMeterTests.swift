import LatchkeyContention
import LatchkeyGuards
import LatchkeyStrategies
import Testing

/// The meters of strategies that serve.
@Suite(.timeLimit(.minutes(15))) struct ServingMeters {
    @Test func `have the cost of metering, but for a strategy that does not block`() {
        let meters = ContentionMeters()
        let lock = meters.serving(.lock, level: .sampled)
        #expect(meters.serving(.lock, level: .sampled) === lock)
        #expect(lock.overhead?.strategy == "lock")
        #expect(lock.traits == StrategyKind.lock.traits)
        #expect(lock.level == .sampled)
        #expect(meters.serving(.actor, level: .counts).overhead == nil)
        #expect(meters.servingCounts.acquisitions == 0, "the measurement is in no report")
    }

    @Test(arguments: [StrategyKind.lock, .serialQueueAsync, .snapshot])
    func `have the difference of what was measured`(kind: StrategyKind) {
        let found = MeteringOverhead.measure(kind, level: .sampled)
        #expect(found.strategy == kind.rawValue)
        #expect(found.unmeteredNanoseconds > 0)
        #expect(found.meteredNanoseconds > 0)
        #expect(found.overheadNanoseconds >= 0)
        #expect(found.clockNanoseconds > 0)
    }
}
