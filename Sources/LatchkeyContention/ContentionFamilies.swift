import LatchkeyMetrics
import LatchkeySync

/// The families that the meters have in a scrape.
///
/// Their names are part of the HTTP contract.
enum ContentionFamilies {
    private static let acquisitions = MetricFamily(
        "latchkey_lock_acquisitions_total",
        .counter,
        help: "Entries into the guarded section."
    )
    private static let contended = MetricFamily(
        "latchkey_lock_contended_total",
        .counter,
        help: "Entries that were not possible at once. Estimated for mutex."
    )
    private static let wait = MetricFamily(
        "latchkey_lock_wait_seconds",
        .histogram,
        help: "From asking to entering, scaled up from those timed.",
        unit: "seconds"
    )
    private static let hold = MetricFamily(
        "latchkey_lock_hold_seconds",
        .histogram,
        help: "From entering to leaving, scaled up from those timed.",
        unit: "seconds"
    )
    private static let waitMax = MetricFamily(
        "latchkey_lock_wait_max_seconds",
        .gauge,
        help: "Longest timed wait of this minute and the last.",
        unit: "seconds"
    )
    private static let waiters = MetricFamily(
        "latchkey_lock_waiters",
        .gauge,
        help: "Entries that are blocked now."
    )
    private static let ownerChanges = MetricFamily(
        "latchkey_lock_owner_changes_total",
        .counter,
        help: "Exclusive entries that came after another thread's."
    )
    private static let samplingRatio = MetricFamily(
        "latchkey_lock_sampling_ratio",
        .gauge,
        help: "Share of the entries that is timed, 0 if only contended.",
        unit: "ratio"
    )
    private static let backlog = MetricFamily(
        "latchkey_strategy_backlog_operations",
        .gauge,
        help: "Accepted writes that are not yet applied.",
        unit: "operations"
    )
    private static let overhead = MetricFamily(
        "latchkey_lock_metering_overhead_seconds",
        .gauge,
        help: "What metering adds to an uncontended entry.",
        unit: "seconds"
    )
    private static let shadowRatio = MetricFamily(
        "latchkey_shadow_sampling_ratio",
        .gauge,
        help: "Share of the operations that a shadow is given.",
        unit: "ratio"
    )
    private static let shadowRefused = MetricFamily(
        "latchkey_shadow_refused_total",
        .counter,
        help: "Sampled operations that a shadow did not apply."
    )
    private static let build = MetricFamily(
        "latchkey_build_info",
        .gauge,
        help: "The program's version and how it was built."
    )

    static let all = [
        acquisitions, contended, wait, hold, waitMax, waiters, ownerChanges, samplingRatio,
        backlog, overhead, shadowRatio, shadowRefused, build,
    ]

    static func write(
        _ meters: [MeterReading],
        build labels: Labels,
        to writer: inout ExpositionWriter
    ) {
        func eachMode(_ sample: (MeterReading, AccessMode, Labels) -> Void) {
            for meter in meters {
                sample(meter, .read, meter.readLabels)
                sample(meter, .write, meter.writeLabels)
            }
        }
        writer.begin(acquisitions)
        eachMode { writer.sample($2, $0.reading[$1].acquisitions) }
        writer.begin(contended)
        eachMode { writer.sample($2, $0.reading[$1].contended) }
        writer.begin(wait)
        eachMode { writer.histogram($2, DurationBuckets.bounds, $0.reading[$1].wait.histogram) }
        writer.begin(hold)
        eachMode { writer.histogram($2, DurationBuckets.bounds, $0.reading[$1].hold.histogram) }
        writer.begin(waitMax)
        eachMode { writer.sample($2, Double($0.reading[$1].wait.windowMaxNanoseconds) / 1e9) }
        writeByMeter(meters, to: &writer)
        writer.begin(build)
        writer.sample(labels, 1 as UInt64)
    }

    /// The families without a mode.
    private static func writeByMeter(
        _ meters: [MeterReading],
        to writer: inout ExpositionWriter
    ) {
        writer.begin(waiters)
        for meter in meters { writer.sample(meter.labels, UInt64(meter.reading.waiters)) }
        writer.begin(ownerChanges)
        for meter in meters { writer.sample(meter.labels, meter.reading.handOffs) }
        writer.begin(samplingRatio)
        for meter in meters { writer.sample(meter.labels, meter.samplingRatio) }
        writer.begin(backlog)
        for meter in meters { writer.sample(meter.labels, UInt64(max(0, meter.backlog))) }
        writer.begin(overhead)
        for meter in meters {
            if let seconds = meter.overheadSeconds { writer.sample(meter.labels, seconds) }
        }
        let shares = meters.compactMap { meter in meter.shadow.map { (meter.labels, $0) } }
        writer.begin(shadowRatio)
        for (labels, share) in shares { writer.sample(labels, 1 / Double(share.sampleInterval)) }
        writer.begin(shadowRefused)
        for (labels, share) in shares { writer.sample(labels, share.refused) }
    }
}

/// A meter's figures for one scrape.
///
/// Whatever is not the serving strategy has its role as a label.
struct MeterReading {
    let reading: ContentionReading
    let labels: Labels
    let readLabels: Labels
    let writeLabels: Labels
    let samplingRatio: Double
    let backlog: Int
    let overheadSeconds: Double?
    let shadow: ShadowShare?

    init(_ meter: ContentionMeter) {
        reading = meter.reading
        let strategy = [(name: "strategy", value: meter.strategy.rawValue)]
        let role = meter.role == .serving ? [] : [(name: "role", value: meter.role.rawValue)]
        labels = Labels(strategy + role)
        readLabels = Labels(strategy + [("mode", AccessMode.read.rawValue)] + role)
        writeLabels = Labels(strategy + [("mode", AccessMode.write.rawValue)] + role)
        samplingRatio = meter.samplingMean == 0 ? 0 : 1 / Double(meter.samplingMean)
        backlog = meter.backlogCount
        overheadSeconds = meter.overhead.map { $0.overheadNanoseconds / 1e9 }
        shadow = meter.shadowShare
    }
}

extension ContentionReading.Durations {
    var histogram: HistogramReading {
        HistogramReading(buckets: buckets, sum: Double(sumNanoseconds) / 1e9)
    }
}
