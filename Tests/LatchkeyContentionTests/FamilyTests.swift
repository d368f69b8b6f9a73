import LatchkeyMetrics
import LatchkeyStrategies
import Testing

@testable import LatchkeyContention

@Suite struct Families {
    @Test func `of the meters are these`() {
        let meters = ContentionMeters(clock: { 0 })
        let serving = ContentionMeter(SerialQueueStrategy.self, level: .full)
        let comparison = ContentionMeter(
            SpinStrategy.self,
            role: .comparison,
            level: .sampled,
            samplingMean: 4
        )
        serving.overhead = MeteringOverhead(
            strategy: "serial-queue",
            unmeteredNanoseconds: 1,
            meteredNanoseconds: 3,
            overheadNanoseconds: 2,
            clockNanoseconds: 1
        )
        meters.add(serving)
        meters.add(comparison)
        meters.observeBacklog { 5 }
        let registry = MetricRegistry()
        meters.register(in: registry)
        let text = String(decoding: registry.text(.openMetrics), as: UTF8.self)
        #expect(text == Self.golden)
    }

    @Test func `are all there for the strategy that serves and the one before it`() {
        let meters = ContentionMeters()
        let registry = MetricRegistry()
        meters.register(in: registry)
        func strategies(_ name: String) -> Set<String> {
            let text = String(decoding: registry.text(.text), as: UTF8.self)
            let lines = text.split(separator: "\n").filter { $0.hasPrefix(name + "{") }
            return Set(lines.map { String($0.split(separator: "\"")[1]) })
        }
        for kind in [StrategyKind.lock, .spin, .mcs] {
            _ = meters.serving(kind) {
                ContentionMeter(LockStrategy.self, as: kind.rawValue, level: .full)
            }
            meters.switched(to: kind)
        }
        #expect(strategies("latchkey_lock_acquisitions_total") == ["lock", "spin", "mcs"])
        #expect(strategies("latchkey_lock_hold_seconds_bucket") == ["spin", "mcs"])
        #expect(strategies("latchkey_lock_wait_max_seconds") == ["spin", "mcs"])
        meters.switched(to: .lock)
        #expect(strategies("latchkey_lock_hold_seconds_bucket") == ["lock", "mcs"])
    }

    @Test func `count on through a reset`() {
        let meters = ContentionMeters()
        let meter = ContentionMeter(LockStrategy.self, level: .full)
        meters.add(meter)
        Reset.record(150, in: meter)
        meters.reset()
        Reset.record(250, in: meter)
        let registry = MetricRegistry()
        meters.register(in: registry)
        let lines = Set(
            String(decoding: registry.text(.text), as: UTF8.self).split(separator: "\n")
        )
        func bucket(_ bound: String, _ count: Int) -> String {
            "latchkey_lock_wait_seconds_bucket"
                + #"{strategy="lock",mode="write",role="serving",le="\#(bound)"} \#(count)"#
        }
        for line in [
            #"latchkey_lock_acquisitions_total{strategy="lock",mode="write",role="serving"} 2"#,
            bucket("1e-07", 0),
            bucket("2e-07", 1),
            bucket("4e-07", 2),
            #"latchkey_lock_wait_seconds_sum{strategy="lock",mode="write",role="serving"} 4e-07"#,
            #"latchkey_lock_wait_seconds_count{strategy="lock",mode="write",role="serving"} 2"#,
            #"latchkey_lock_hold_seconds_count{strategy="lock",mode="write",role="serving"} 2"#,
            #"latchkey_lock_wait_max_seconds{strategy="lock",mode="write",role="serving"} 2.5e-07"#,
        ] {
            #expect(lines.contains(Substring(line)))
        }
    }

    /// All samples of an empty histogram in every mode of the meter that serves.
    private static func emptyHistogram(_ name: String) -> String {
        let modes = [
            #"strategy="serial-queue",mode="read",role="serving""#,
            #"strategy="serial-queue",mode="write",role="serving""#,
        ]
        let bounds = [
            "1e-07", "2e-07", "4e-07", "8e-07", "1.6e-06", "3.2e-06", "6.4e-06", "1.28e-05",
            "2.56e-05", "5.12e-05", "0.0001024", "0.0002048", "0.0004096", "0.0008192",
            "0.0016384", "0.0032768", "0.0065536", "0.0131072", "0.0262144", "0.0524288",
            "0.1048576", "0.2097152", "0.4194304", "0.8388608", "1.6777216", "3.3554432",
            "6.7108864", "13.4217728", "+Inf",
        ]
        return modes.flatMap { labels in
            bounds.map { "\(name)_bucket{\(labels),le=\"\($0)\"} 0" }
                + ["\(name)_sum{\(labels)} 0.0", "\(name)_count{\(labels)} 0"]
        }.joined(separator: "\n")
    }

    private static let golden = """
        # HELP latchkey_lock_acquisitions Entries into the guarded section.
        # TYPE latchkey_lock_acquisitions counter
        latchkey_lock_acquisitions_total{strategy="serial-queue",mode="read",role="serving"} 0
        latchkey_lock_acquisitions_total{strategy="serial-queue",mode="write",role="serving"} 0
        latchkey_lock_acquisitions_total{strategy="spin",mode="read",role="comparison"} 0
        latchkey_lock_acquisitions_total{strategy="spin",mode="write",role="comparison"} 0
        # HELP latchkey_lock_contended Entries that were not possible at once. Estimated for mutex.
        # TYPE latchkey_lock_contended counter
        latchkey_lock_contended_total{strategy="serial-queue",mode="read",role="serving"} 0
        latchkey_lock_contended_total{strategy="serial-queue",mode="write",role="serving"} 0
        latchkey_lock_contended_total{strategy="spin",mode="read",role="comparison"} 0
        latchkey_lock_contended_total{strategy="spin",mode="write",role="comparison"} 0
        # HELP latchkey_lock_wait_seconds Time from request to entry, scaled up from the timed \
        acquisitions.
        # TYPE latchkey_lock_wait_seconds histogram
        # UNIT latchkey_lock_wait_seconds seconds
        \(emptyHistogram("latchkey_lock_wait_seconds"))
        # HELP latchkey_lock_hold_seconds Time from entry to exit, scaled up from the timed \
        acquisitions.
        # TYPE latchkey_lock_hold_seconds histogram
        # UNIT latchkey_lock_hold_seconds seconds
        \(emptyHistogram("latchkey_lock_hold_seconds"))
        # HELP latchkey_lock_wait_max_seconds Longest timed wait of this minute and the last.
        # TYPE latchkey_lock_wait_max_seconds gauge
        # UNIT latchkey_lock_wait_max_seconds seconds
        latchkey_lock_wait_max_seconds{strategy="serial-queue",mode="read",role="serving"} 0.0
        latchkey_lock_wait_max_seconds{strategy="serial-queue",mode="write",role="serving"} 0.0
        # HELP latchkey_lock_waiters Entries that are blocked now.
        # TYPE latchkey_lock_waiters gauge
        latchkey_lock_waiters{strategy="serial-queue",role="serving"} 0
        # HELP latchkey_lock_hand_offs Exclusive entries that followed an entry of another thread.
        # TYPE latchkey_lock_hand_offs counter
        latchkey_lock_hand_offs_total{strategy="serial-queue",role="serving"} 0
        latchkey_lock_hand_offs_total{strategy="spin",role="comparison"} 0
        # HELP latchkey_lock_sampling_ratio Share of the entries that is timed, 0 if only contended.
        # TYPE latchkey_lock_sampling_ratio gauge
        # UNIT latchkey_lock_sampling_ratio ratio
        latchkey_lock_sampling_ratio{strategy="serial-queue",role="serving"} 1.0
        # HELP latchkey_strategy_backlog_operations Accepted writes that are not yet applied.
        # TYPE latchkey_strategy_backlog_operations gauge
        # UNIT latchkey_strategy_backlog_operations operations
        latchkey_strategy_backlog_operations{strategy="serial-queue",role="serving"} 5
        # HELP latchkey_strategy_served_seconds Time that a strategy served, from the start.
        # TYPE latchkey_strategy_served_seconds counter
        # UNIT latchkey_strategy_served_seconds seconds
        latchkey_strategy_served_seconds_total{strategy="serial-queue",role="serving"} 0.0
        # HELP latchkey_lock_metering_overhead_seconds Cost of metering for an uncontended entry.
        # TYPE latchkey_lock_metering_overhead_seconds gauge
        # UNIT latchkey_lock_metering_overhead_seconds seconds
        latchkey_lock_metering_overhead_seconds{strategy="serial-queue",role="serving"} 2e-09
        # EOF

        """
}
