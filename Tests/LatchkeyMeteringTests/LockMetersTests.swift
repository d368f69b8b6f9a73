import LatchkeyStrategies
import Testing

@testable import LatchkeyMetering

/// A lock that this package does not know.
private final class OwnLock: RawLock {
    static var rawLockPromise: Promise<OwnLock> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    private let base = AdaptiveLock()

    func lock() { base.lock() }
    func tryLock() -> Bool { base.tryLock() }
    func unlock() { base.unlock() }
}

/// Meters with a load of known counts, and no times: no thread waits, and level `counts` times
/// waits only.
private func knownLoad() -> LockMeters {
    let locks = LockMeters(level: .counts)
    let sessions = locks.metered("sessions", [String: Int]())
    let queue = locks.metered("queue", 0, strategy: RawLockStrategy<OwnLock>())
    let other = locks.metered("queue", 0, strategy: RawLockStrategy<OwnLock>())
    for round in 0..<3 { sessions.write { $0["ada"] = round } }
    _ = sessions.read { $0.count }
    for queue in [queue, other] { queue.withLock { $0 += 1 } }
    return locks
}

@Suite struct LockMetersTests {
    @Test func `the report of a known load is this`() {
        #expect(
            "\(knownLoad().report)" == """
                lock      strategy  reads  writes  contended  wait total  wait p99  max  hold p99  \
                max
                queue     OwnLock       0       2          0           -         -    -         -  \
                  -
                sessions  adaptive      1       3          0           -         -    -         -  \
                  -
                """
        )
    }

    @Test func `the Prometheus text of a known load is this`() {
        #expect(knownLoad().prometheus == Self.scrape)
    }

    @Test func `times are in the report where they are measured`() throws {
        let locks = LockMeters(level: .full)
        let lock = locks.metered("a", 0)
        lock.write { $0 += 1 }
        let row = try #require(locks.report.rows.first)
        for times in [row.wait, row.hold] {
            let times = try #require(times)
            #expect(times.p50 > .zero)
            #expect(times.p50 <= times.p99)
            #expect(times.p99 <= times.max)
        }
    }

    @Test func `a table shows durations in units that fit`() {
        func times(_ nanoseconds: Int) -> LockReport.Times {
            let duration = Duration.nanoseconds(nanoseconds)
            return LockReport.Times(p50: duration, p99: duration, max: duration * 1000)
        }
        let row = LockReport.Row(
            lock: "a",
            strategy: "lock",
            readCount: 1,
            writeCount: 20,
            contendedCount: 3,
            waiterCount: 0,
            waitTotal: .microseconds(1_300),
            wait: times(999),
            hold: times(1_250_000)
        )
        #expect(
            "\(LockReport(rows: [row]))" == """
                lock  strategy  reads  writes  contended  wait total  wait p99       max  \
                hold p99    max
                a     lock          1      20          3      1.3 ms    999 ns  999.0 µs    \
                1.3 ms  1.3 s
                Hottest: 'a' (lock) has 100 % of the total wait, 1.3 ms. \
                It is held for up to 1.3 s, and for 1.3 ms at p99.
                """
        )
    }

    @Test func `an access that gives up waits no longer`() throws {
        let locks = LockMeters(level: .counts)
        let value = locks.metered("a", 0)
        #expect(value.write(deadline: .now) { $0 + 1 } == 1)
        @Sendable func never(_ value: Int) -> Bool { false }
        #expect(value.write(when: never, deadline: .now) { $0 } == nil)
        let row = try #require(locks.report.rows.first)
        #expect(row.writeCount == 2)
        #expect(row.contendedCount == 1)
        #expect(row.waiterCount == 0)
    }

    @Test func `stripes share a meter`() {
        let locks = LockMeters(level: .counts)
        let stripes = Striped<Int, Metered<SpinStrategy>>(
            count: 4,
            strategy: { locks.strategy("cache", SpinStrategy()) },
            value: { _ in 0 }
        )
        for stripe in 0..<4 { stripes.write(stripe) { $0 += 1 } }
        #expect(locks.report.rows.map(\.writeCount) == [4])
    }

    @Test func `a reset restarts the report and leaves Prometheus' counters`() {
        let locks = knownLoad()
        locks.reset()
        #expect(locks.report.rows.map(\.writeCount) == [0, 0])
        #expect(locks.prometheus == Self.scrape)
    }

    @Test func `names after the bound are metered together`() {
        let locks = LockMeters(level: .counts)
        for index in 0..<(LockMeters.lockCountMax + 10) {
            let lock = locks.metered("name-\(index)", 0)
            lock.write { $0 += 1 }
        }
        let again = locks.metered("name-0", 0)
        again.write { $0 += 1 }
        let rows = locks.report.rows
        #expect(rows.count == LockMeters.lockCountMax + 1)
        #expect(rows.first { $0.lock == LockMeters.otherName }?.writeCount == 10)
        #expect(rows.first { $0.lock == "name-0" }?.writeCount == 2)
    }

    @Test(arguments: ["a", "Z9", "cache/index", "a.b:c-d_e", String(repeating: "x", count: 64)])
    func `a name of allowed characters is taken`(name: String) {
        let locks = LockMeters()
        _ = locks.metered(name, 0)
        #expect(locks.report.rows.map(\.lock) == [name])
    }

    @Test(arguments: [
        "", "a\"} 1\nb{", "a b", "a\\", "é", "a\u{0}", String(repeating: "x", count: 65),
    ])
    func `a hostile name stops`(name: String) async {
        await #expect(processExitsWith: .failure) { [name] in _ = LockMeters().metered(name, 0) }
    }

    @Test func `metering with level off stops`() async {
        await #expect(processExitsWith: .failure) { _ = LockMeters(level: .off) }
    }
}

@Suite struct ChosenAtRunTimeTests {
    @Test func `strategies that are chosen at run time have rows, traits and blocking calls`() {
        let locks = LockMeters(level: .full)
        for kind in [StrategyKind.ticket, .mutex, .actor] {
            let value = locks.metered("value", 0, strategy: AnyStrategy(kind))
            value.observedBlocking()?.write { $0 += 1 }
            #expect(value.observedBlocking()?.read { $0 } == (kind == .actor ? nil : 1))
        }
        #expect(locks.report.rows.map(\.strategy).sorted() == ["actor", "mutex", "ticket"])
        #expect(locks.report.rows.map(\.writeCount).sorted() == [0, 1, 1])
        #expect(locks.prometheus.contains("Estimated for mutex."))
    }
}

extension LockMetersTests {
    private static let scrape = """
        # HELP latchkey_lock_acquisitions_total Entries into the guarded section.
        # TYPE latchkey_lock_acquisitions_total counter
        \(byMode("latchkey_lock_acquisitions_total", ["0", "2", "1", "3"]))
        # HELP latchkey_lock_contended_total Entries that were not possible at once. Estimated \
        for mutex.
        # TYPE latchkey_lock_contended_total counter
        \(byMode("latchkey_lock_contended_total", ["0", "0", "0", "0"]))
        # HELP latchkey_lock_wait_seconds Time from request to entry, scaled up from the timed \
        acquisitions.
        # TYPE latchkey_lock_wait_seconds histogram
        \(emptyHistogram("latchkey_lock_wait_seconds"))
        # HELP latchkey_lock_hold_seconds Time from entry to exit, scaled up from the timed \
        acquisitions.
        # TYPE latchkey_lock_hold_seconds histogram
        \(emptyHistogram("latchkey_lock_hold_seconds"))
        # HELP latchkey_lock_wait_max_seconds Longest timed wait of this minute and the last.
        # TYPE latchkey_lock_wait_max_seconds gauge
        \(byMode("latchkey_lock_wait_max_seconds", ["0.0", "0.0", "0.0", "0.0"]))
        # HELP latchkey_lock_waiters Entries that are blocked now.
        # TYPE latchkey_lock_waiters gauge
        \(byMeter("latchkey_lock_waiters", "0"))
        # HELP latchkey_lock_hand_offs_total Exclusive entries that followed an entry of another \
        thread.
        # TYPE latchkey_lock_hand_offs_total counter
        \(byMeter("latchkey_lock_hand_offs_total", "0"))
        # HELP latchkey_lock_sampling_ratio Share of the entries that is timed, 0 if only contended.
        # TYPE latchkey_lock_sampling_ratio gauge
        \(byMeter("latchkey_lock_sampling_ratio", "0.0"))

        """

    private static let meters = [
        #"lock="queue",strategy="OwnLock""#, #"lock="sessions",strategy="adaptive""#,
    ]
    private static let modes = meters.flatMap { meter in
        ["read", "write"].map { "\(meter),mode=\"\($0)\"" }
    }

    private static func byMode(_ name: String, _ values: [String]) -> String {
        zip(modes, values).map { "\(name){\($0)} \($1)" }.joined(separator: "\n")
    }

    private static func byMeter(_ name: String, _ value: String) -> String {
        meters.map { "\(name){\($0)} \(value)" }.joined(separator: "\n")
    }

    /// All samples of an empty histogram in every mode of both meters.
    private static func emptyHistogram(_ name: String) -> String {
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
}
