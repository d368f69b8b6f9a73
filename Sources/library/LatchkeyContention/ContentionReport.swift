package import Foundation
internal import LatchkeySync

/// The findings of the meters: one row for each, in the answer to `GET /v1/contention`.
///
/// The JSON's field names are the properties' here, with the unit last; they are part of the HTTP
/// contract. A figure that was not measured is `null`, never 0.
package struct ContentionReport: Codable, Sendable, Equatable {
    package var generatedAt: Date
    /// The strategy that serves now, those that have served, and then the others; of each, the
    /// longest total wait first.
    package var rows: [Row]
    /// Which lock of the strategy that serves now makes requests wait most, in a sentence.
    ///
    /// Left out if nothing waited.
    package var hottest: String?

    package init(generatedAt: Date, rows: [Row]) {
        self.generatedAt = generatedAt
        self.rows = rows.enumerated().sorted { one, other in
            let (first, second) = (one.element, other.element)
            guard first.rank == second.rank else { return first.rank < second.rank }
            return first.waitTotalNanoseconds == second.waitTotalNanoseconds
                ? one.offset < other.offset
                : first.waitTotalNanoseconds > second.waitTotalNanoseconds
        }.map(\.element)
        hottest = Self.hottest(self.rows)
    }

    /// One strategy in one role.
    package struct Row: Codable, Sendable, Equatable {
        package var strategy: String
        package var role: MeterRole
        package var level: MeteringLevel
        /// One acquisition in N was timed on average: N; 1 for all, 0 for contended ones only.
        package var samplingMean: Int
        /// By the names of the table of `GET /v1/strategies`.
        package var traits: [String: Bool]
        /// When counting began: the last reset, or when the strategy was first used.
        package var since: Date
        /// For how long the strategy has served since then.
        ///
        /// Left out of rows that are not of the service, as `servesNow` is.
        package var servedSeconds: Double?
        package var servesNow: Bool?
        package var acquisitions: Counts
        package var contended: Counts
        /// Whether `contended` was counted one by one; otherwise it is an estimate.
        package var contendedIsExact: Bool
        package var contendedRatio: Double?
        /// Exclusive entries that came after one of another thread, counted one by one.
        package var handOffs: UInt64
        /// The time that contended entries waited, all together, scaled up from what was timed.
        package var waitTotalNanoseconds: UInt64
        /// Where stripes are told apart, and some entry waited.
        package var hottestStripe: HottestStripe?
        package var waiters: Int
        package var backlog: Int
        package var threads: Int
        package var wait: ByMode
        package var hold: ByMode
        package var overhead: MeteringOverhead?
    }

    package struct Counts: Codable, Sendable, Equatable {
        package var read: UInt64
        package var write: UInt64
        package var all: UInt64
    }

    package struct ByMode: Codable, Sendable, Equatable {
        package var read: Durations?
        package var write: Durations?
        package var all: Durations?
    }

    /// Quantiles come from buckets, each twice as wide as the one before, and are scaled up where
    /// not all were timed; the maximum is the longest that was timed.
    ///
    /// A quantile of at most 100 ns is in the first bucket, and is an upper bound. Nothing is below
    /// what it costs to read the clock.
    package struct Durations: Codable, Sendable, Equatable {
        /// The number of timed ones.
        package var timedCount: UInt64
        package var meanNanoseconds: UInt64
        package var p50Nanoseconds: UInt64
        package var p90Nanoseconds: UInt64
        package var p99Nanoseconds: UInt64
        package var p999Nanoseconds: UInt64
        package var maxNanoseconds: UInt64
    }
}

extension ContentionReport.Row {
    fileprivate var rank: Int { servesNow == true ? -1 : role.rank }

    /// The meter's figures now, and nothing below the cost of reading the clock.
    package init(
        _ meter: ContentionMeter,
        clockNanoseconds: UInt64 = UInt64(MeteringOverhead.clockNanoseconds.rounded())
    ) {
        let (reading, since) = meter.readingSinceReset
        let all = reading.read + reading.write
        self.init(
            strategy: meter.strategy,
            role: meter.role,
            level: meter.level,
            samplingMean: meter.samplingMean,
            traits: Dictionary(
                uniqueKeysWithValues: StrategyTraits.columns.map { column in
                    (column.json, column.value(meter.traits))
                }
            ),
            since: since,
            acquisitions: ContentionReport.Counts(reading, \.acquisitions),
            contended: ContentionReport.Counts(reading, \.contended),
            contendedIsExact: meter.countsContendedExactly,
            contendedRatio: all.acquisitions == 0
                ? nil : min(1, Double(all.contended) / Double(all.acquisitions)),
            handOffs: reading.handOffs,
            waitTotalNanoseconds: reading.read.waitedNanoseconds
                &+ reading.write.waitedNanoseconds,
            hottestStripe: ContentionReport.HottestStripe(meter.stripeWaitsSinceReset),
            waiters: reading.waiters,
            backlog: 0,
            threads: reading.threads,
            wait: ContentionReport.ByMode(reading, \.wait, floor: clockNanoseconds),
            hold: ContentionReport.ByMode(reading, \.hold, floor: clockNanoseconds),
            overhead: meter.overhead
        )
    }
}

extension ContentionReport.Counts {
    fileprivate init(
        _ reading: ContentionReading,
        _ count: KeyPath<ContentionReading.Mode, UInt64>
    ) {
        read = reading.read[keyPath: count]
        write = reading.write[keyPath: count]
        all = read + write
    }
}

extension ContentionReport.ByMode {
    fileprivate init(
        _ reading: ContentionReading,
        _ durations: KeyPath<ContentionReading.Mode, ContentionReading.Histogram>,
        floor: UInt64
    ) {
        func figures(_ mode: ContentionReading.Mode) -> ContentionReport.Durations? {
            ContentionReport.Durations(mode[keyPath: durations], floor: floor)
        }
        read = figures(reading.read)
        write = figures(reading.write)
        all = figures(reading.read + reading.write)
    }
}

extension ContentionReport.Durations {
    /// `nil` if nothing was timed.
    init?(_ durations: ContentionReading.Histogram, floor: UInt64) {
        let weight = durations.buckets.reduce(0, &+)
        guard weight > 0 else { return nil }
        func quantile(_ share: Double) -> UInt64 {
            let max = durations.maxNanoseconds
            return Swift.max(
                floor,
                DurationBuckets.quantile(share, of: durations.buckets, max: max) ?? 0
            )
        }
        self.init(
            timedCount: durations.timed,
            meanNanoseconds: max(floor, durations.sumNanoseconds / weight),
            p50Nanoseconds: quantile(0.5),
            p90Nanoseconds: quantile(0.9),
            p99Nanoseconds: quantile(0.99),
            p999Nanoseconds: quantile(0.999),
            maxNanoseconds: max(floor, durations.maxNanoseconds)
        )
    }
}

extension ContentionReport.ByMode {
    /// Written out so that a figure that was not measured is `null`; the synthesized method leaves
    /// it out.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(read, forKey: .read)
        try container.encode(write, forKey: .write)
        try container.encode(all, forKey: .all)
    }
}
