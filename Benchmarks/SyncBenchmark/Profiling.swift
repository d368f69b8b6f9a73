import LatchkeyContention
import LatchkeyStrategies

// The cost of profiling where it has something to record: a metered lock that all threads use, with
// a profile and without.

/// A row of the table.
func profiling(threads: Int = 8, milliseconds: UInt32 = 200) -> Comparison {
    func contender(_ name: String, _ profile: ContentionProfile?) -> Contender {
        Contender(name: name) {
            let meter = ContentionMeter(LockStrategy.self, level: .sampled, profile: profile)
            let counter = Synchronized(0, strategy: meter.metered(LockStrategy()))
            return contended(threads, milliseconds) { counter.write { $0 &+= 1 } }
        }
    }
    return Comparison(
        measure: "`lock` profiled ÷ metered only, \(threads) threads contended",
        figure: .throughputRatio(atLeast: 0.95),
        subject: contender("lock, metered and profiled", ContentionProfile()),
        reference: contender("lock, metered", nil)
    )
}
