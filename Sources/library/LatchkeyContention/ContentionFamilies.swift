import LatchkeyMetrics
import LatchkeySync

/// The families that the meters have in a scrape, in its order.
///
/// Their names are part of the HTTP contract.
enum ContentionFamilies {
    /// Writes some of the figures: by default those that every lock has.
    static func write(
        _ meters: [MeterReading],
        _ figures: [Figure] = ofLocks,
        to writer: inout ExpositionWriter
    ) {
        for figure in figures {
            writer.begin(figure.family)
            for meter in meters where !meter.hasCountersOnly || figure.family.kind == .counter {
                figure.write(meter, &writer)
            }
        }
    }

    /// A family and the way to write a meter's samples of it.
    struct Figure: Sendable {
        let family: MetricFamily
        let write: @Sendable (MeterReading, inout ExpositionWriter) -> Void
    }

    private static func byMode(
        _ name: String,
        _ help: String,
        _ kind: MetricFamily.Kind = .counter,
        _ value: @escaping @Sendable (ContentionReading.Mode) -> Value
    ) -> Figure {
        let unit = name.hasSuffix("_seconds") ? "seconds" : nil
        return Figure(family: MetricFamily(name, kind, help: help, unit: unit)) { meter, writer in
            for mode in [AccessMode.read, .write] {
                writer.write(value(meter.reading[mode]), meter.labels(mode))
            }
        }
    }

    /// Left out where there is no value.
    private static func byMeter(
        _ name: String,
        _ help: String,
        unit: String? = nil,
        _ value: @escaping @Sendable (MeterReading) -> Value?
    ) -> Figure {
        let kind: MetricFamily.Kind = name.hasSuffix("_total") ? .counter : .gauge
        return Figure(family: MetricFamily(name, kind, help: help, unit: unit)) { meter, writer in
            if let value = value(meter) { writer.write(value, meter.labels) }
        }
    }

    static let ofLocks = [
        byMode("latchkey_lock_acquisitions_total", "Entries into the guarded section.") {
            .count($0.acquisitions)
        },
        byMode(
            "latchkey_lock_contended_total",
            "Entries that were not possible at once. Estimated for mutex."
        ) { .count($0.contended) },
        byMode(
            "latchkey_lock_wait_seconds",
            "Time from request to entry, scaled up from the timed acquisitions.",
            .histogram
        ) { .histogram($0.wait) },
        byMode(
            "latchkey_lock_hold_seconds",
            "Time from entry to exit, scaled up from the timed acquisitions.",
            .histogram
        ) { .histogram($0.hold) },
        byMode(
            "latchkey_lock_wait_max_seconds",
            "Longest timed wait of this minute and the last.",
            .gauge
        ) { .number(Double($0.wait.windowMaxNanoseconds) / 1e9) },
        byMeter("latchkey_lock_waiters", "Entries that are blocked now.") {
            .count(UInt64($0.reading.waiters))
        },
        byMeter(
            "latchkey_lock_hand_offs_total",
            "Exclusive entries that followed an entry of another thread."
        ) { .count($0.reading.handOffs) },
        byMeter(
            "latchkey_lock_sampling_ratio",
            "Share of the entries that is timed, 0 if only contended.",
            unit: "ratio"
        ) { .number($0.meter.samplingMean == 0 ? 0 : 1 / Double($0.meter.samplingMean)) },
    ]

    static let ofService = [
        byMeter(
            "latchkey_strategy_backlog_operations",
            "Accepted writes that are not yet applied.",
            unit: "operations"
        ) { .count(UInt64(max(0, $0.backlogCount))) },
        byMeter(
            "latchkey_strategy_served_seconds_total",
            "Time that a strategy served, from the start.",
            unit: "seconds"
        ) { $0.servedNanoseconds.map { .number(Double($0) / 1e9) } },
        byMeter(
            "latchkey_lock_metering_overhead_seconds",
            "Cost of metering for an uncontended entry.",
            unit: "seconds"
        ) { $0.meter.overhead.map { .number($0.overheadNanoseconds / 1e9) } },
    ]

    fileprivate enum Value {
        case count(UInt64)
        case number(Double)
        case histogram(ContentionReading.Histogram)
    }
}

extension ExpositionWriter {
    fileprivate mutating func write(_ value: ContentionFamilies.Value, _ labels: Labels) {
        switch value {
        case .count(let count): sample(labels, count)
        case .number(let number): sample(labels, number)
        case .histogram(let found):
            let sum = Double(found.sumNanoseconds) / 1e9
            let reading = HistogramReading(buckets: found.buckets, sum: sum)
            histogram(labels, DurationBuckets.bounds, reading)
        }
    }
}

/// A meter's figures for one scrape.
struct MeterReading {
    let meter: ContentionMeter
    let reading: ContentionReading
    /// Nil if it is not one of the service.
    var servedNanoseconds: UInt64?
    var backlogCount = 0
    /// Without histograms and gauges.
    var hasCountersOnly = false

    init(_ meter: ContentionMeter) {
        self.meter = meter
        reading = meter.reading
    }

    var labels: Labels { labels(nil) }

    /// A named lock has its name as a label.
    ///
    /// A strategy of the service has its role, the serving one too, so that a sum over one role
    /// leaves out comparisons.
    func labels(_ mode: AccessMode?) -> Labels {
        var pairs = [(name: "strategy", value: meter.strategy)]
        if let lock = meter.lock { pairs.insert(("lock", lock), at: 0) }
        if let mode { pairs.append(("mode", mode.rawValue)) }
        if meter.lock == nil { pairs.append(("role", meter.role.rawValue)) }
        return Labels(pairs)
    }
}
