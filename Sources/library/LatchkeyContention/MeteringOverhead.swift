import CLatchkeySystem

/// The cost of metering, measured in this process: an uncontended write with and without it.
package struct MeteringOverhead: Codable, Sendable, Equatable {
    /// The strategy it was measured with.
    package var strategy: String
    package var unmeteredNanoseconds: Double
    package var meteredNanoseconds: Double
    /// The median difference of both, measured alternately; 0 if the noise was greater than it.
    package var overheadNanoseconds: Double
    /// The cost of reading the clock, which is in every timed wait and hold.
    package var clockNanoseconds: Double

    private static let rounds = 11
    private static let roundNanoseconds = 200_000.0

    /// Measures alternately for about five milliseconds, on the calling thread: two functions that
    /// make so many uncontended writes.
    package static func measure(
        _ strategy: String,
        unmetered: (Int) -> Void,
        metered: (Int) -> Void
    ) -> MeteringOverhead {
        func time(_ run: (Int) -> Void, _ count: Int) -> Double {
            let start = latchkey_system_nanoseconds()
            run(count)
            return Double(latchkey_system_nanoseconds() &- start) / Double(count)
        }
        // Also the warm-up.
        let once = max(1, time(unmetered, 100) + time(metered, 100)) / 2
        let count = max(100, Int(roundNanoseconds / once))
        var rounds: [(unmetered: Double, metered: Double)] = []
        for _ in 0..<Self.rounds {
            rounds.append((time(unmetered, count), time(metered, count)))
        }
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        return MeteringOverhead(
            strategy: strategy,
            unmeteredNanoseconds: median(rounds.map(\.unmetered)),
            meteredNanoseconds: median(rounds.map(\.metered)),
            overheadNanoseconds: max(0, median(rounds.map { $0.metered - $0.unmetered })),
            clockNanoseconds: clockNanoseconds
        )
    }

    /// The cost of reading the clock, measured once: the least of some means, since other work on
    /// the machine only adds.
    package static let clockNanoseconds: Double = {
        let reads = 50
        let means = (0..<20).map { _ in
            let start = latchkey_system_nanoseconds()
            var last = start
            for _ in 0..<reads {
                last = latchkey_system_nanoseconds()
            }
            return Double(last &- start) / Double(reads)
        }
        return means.min() ?? 0
    }()
}
