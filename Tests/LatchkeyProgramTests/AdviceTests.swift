import Testing

@testable import latchkey

/// The advice from planted readings of the meters.
@Suite struct AdviceTests {
    /// Ten seconds with 100,000 accesses each, and a busy processor: means in microseconds.
    private func observation(
        wait: Double,
        hold: Double = 0.5,
        operations: Double = 1_000_000,
        processor: Double = 10
    ) -> Observation {
        var metrics = MetricsReading()
        metrics.serving["lock"] = LockUse(
            operations: operations,
            contended: operations / 4,
            wait: .init(count: operations, seconds: operations * wait / 1e6),
            hold: .init(count: operations, seconds: operations * hold / 1e6),
            waitBuckets: [1e-7: 0, 1e-3: operations, .infinity: operations]
        )
        metrics.requests = .init(count: operations, seconds: operations * 20e-6)
        metrics.processorSeconds = processor
        return Observation(strategy: "lock", seconds: 10, metrics: metrics)
    }

    private func isNear(_ figure: Double?, _ expected: Double) -> Bool {
        guard let figure else { return false }
        return abs(figure - expected) <= 1e-9 * max(1, expected)
    }

    @Test func `the lock's share is hold × rate, and the waits are the most that can be saved`() {
        let advice = Advice(observation(wait: 5))
        // Ten seconds of processor time, and five of waits.
        #expect(isNear(advice.waitShare, 5.0 / 15))
        #expect(advice.savingMax == advice.waitShare)
        // 500 ns of 100,000 accesses a second, of a busy time of 1.5 s a second.
        #expect(isNear(advice.holdShare, 0.05 / 1.5))
        #expect(isNear(advice.waitShareOfRequests, 0.25))
        #expect(isNear(advice.contendedRatio, 0.25))
        #expect(isNear(advice.holdMeanNanoseconds, 500) && isNear(advice.waitMeanNanoseconds, 5000))
        #expect(advice.operationsPerSecond == 100_000)
        #expect(advice.verdict == .waits)
        let expected = """
            Your lock makes requests wait: another strategy could save at most 33 % of the busy \
            time.
            Waiting takes 33 % of the busy time, and another strategy can do no more than end it: \
            the work under the lock stays, whatever guards it.
            10 s of lock. Hold × rate: 500 ns × 100k/s, that is 50.0 ms in each second, or 3.3 % \
            of the busy time. Waits: 25 % contended, 5.00 µs on average, 99 % at most 1.00 ms, \
            25 % of a request's time.
            """
        #expect(advice.paragraphs.prefix(3).joined(separator: "\n") == expected)
    }

    @Test func `the work under the lock is no part of what can be saved`() {
        for hold in [0.5, 5, 50] {
            let advice = Advice(observation(wait: 0.1, hold: hold, processor: 100))
            #expect(isNear(advice.savingMax, 0.1 / 100.1))
            #expect(isNear(advice.holdShare, hold / 100.1))
            #expect(advice.verdict == .notBottleneck)
        }
    }

    @Test func `the share at which a lock is a bottleneck is a bound`() {
        // w / (10 + w) = 5 %, of a million accesses.
        let bound = 0.05 / 0.95 * 10
        let below = Advice(observation(wait: bound * 0.999))
        #expect(below.verdict == .notBottleneck)
        #expect(below.headline.hasPrefix("Your lock is not your bottleneck: another strategy "))
        #expect(Advice(observation(wait: bound * 1.001)).verdict == .waits)
    }

    @Test func `reading the clock is neither a wait nor a hold`() {
        var seen = observation(wait: 1, hold: 1)
        seen.clockSeconds = 0.6e-6
        let advice = Advice(seen)
        #expect(isNear(advice.waitMeanNanoseconds, 400) && isNear(advice.holdMeanNanoseconds, 400))
        #expect(isNear(advice.savingMax, 0.4 / 10.4))
        seen.clockSeconds = 2e-6
        #expect(Advice(seen).savingMax == 0 && Advice(seen).holdShare == 0)
    }

    @Test func `of a strategy that spins, the waits can be in the processor time`() {
        var seen = observation(wait: 5)
        seen.spins = true
        // The waits are half of the ten seconds, and not a third of fifteen.
        #expect(isNear(Advice(seen).savingMax, 0.5))
        // Threads wait without a processor, too, and a holder can lose its own: its time does not
        // make the bound smaller.
        seen = observation(wait: 20, hold: 20)
        seen.spins = true
        #expect(isNear(Advice(seen).savingMax, 1))
    }

    /// As recorded: 20 s of `ticket` with one stripe, 16 threads and 32 connections.
    ///
    /// `lock` answered 2.1 times as many requests: it saved 52 % of the time of a request.
    @Test func `the bound is not below what a switch has saved`() throws {
        var metrics = MetricsReading()
        metrics.serving["ticket"] = LockUse(
            operations: 306_459,
            contended: 153_230,
            wait: .init(count: 306_459, seconds: 27.1),
            hold: .init(count: 306_459, seconds: 2.51)
        )
        metrics.processorSeconds = 15.7
        var seen = Observation(strategy: "ticket", seconds: 20, metrics: metrics)
        seen.spins = true
        let advice = Advice(seen)
        #expect(try #require(advice.savingMax) > 1 - 1 / 2.1)
        #expect(advice.waitShareOfRequests == nil, "no request was counted")
    }

    @Test func `the wait of writes without a thread is part of the requests' time`() {
        var seen = observation(wait: 5)
        seen.appliesWritesLater = true
        let advice = Advice(seen)
        #expect(advice.waitShare == nil && isNear(advice.savingMax, 0.25))
        #expect(isNear(advice.holdShare, 0.05), "of the processor time alone")
        #expect(advice.headline.hasSuffix("could save at most 25 % of the time of requests."))
    }

    @Test func `an idle service, and one with too few samples, is told to ask again`() {
        for operations in [0.0, 49] {
            let advice = Advice(observation(wait: 5, operations: operations))
            #expect(advice.verdict == .tooLittleTraffic && advice.savingMax == nil)
            #expect(advice.paragraphs.first == "There is too little traffic to tell.")
            #expect(advice.paragraphs.count == 2)
        }
        #expect(Advice(observation(wait: 5, operations: 50)).verdict == .notBottleneck)
        var sampled = observation(wait: 5, operations: 6000)
        sampled.samplingMean = 128
        #expect(Advice(sampled).verdict == .tooLittleTraffic)
        sampled.strategy = "spin"
        #expect(Advice(sampled).operationsPerSecond == 0, "nothing is known of it")
    }

    @Test func `no strategy is named but the one that serves`() {
        for wait in [0, 0.1, 5, 500] {
            let text = Advice(observation(wait: wait)).paragraphs.joined(separator: " ")
            for name in ["adaptive", "spin", "ticket", "snapshot", "actor", "queue", "mutex"] {
                #expect(!text.contains(name), "\(text)")
            }
        }
    }

    @Test func `the hottest lock is named where requests wait, and a debug build always`() {
        var seen = observation(wait: 5)
        seen.hottest = "Hottest: stripe 3 of 4 (lock) has 90 % of the total wait, 1.0 s."
        seen.isDebugBuild = true
        #expect(Advice(seen).paragraphs.contains(seen.hottest ?? ""))
        #expect(Advice(seen).paragraphs.last?.hasPrefix("The service is a debug build") == true)
        seen.metrics = observation(wait: 0.1).metrics
        #expect(!Advice(seen).paragraphs.contains(seen.hottest ?? ""))
        #expect(Advice(seen).paragraphs.last?.hasPrefix("The service is a debug build") == true)
    }
}

/// The readings from the metrics of a service.
@Suite struct MetricsReadingTests {
    private static let text = """
        # HELP latchkey_lock_acquisitions_total Entries into the guarded section.
        # TYPE latchkey_lock_acquisitions_total counter
        latchkey_lock_acquisitions_total{strategy="lock",mode="read",role="serving"} 3
        latchkey_lock_acquisitions_total{strategy="lock",mode="write",role="serving"} 4
        latchkey_lock_acquisitions_total{strategy="lock",mode="write",role="comparison"} 5
        latchkey_lock_acquisitions_total{lock="own",strategy="lock",mode="write"} 50
        latchkey_lock_contended_total{strategy="lock",mode="write",role="serving"} 2
        latchkey_lock_wait_seconds_bucket{strategy="lock",mode="write",role="serving",le="1e-07"} 90
        latchkey_lock_wait_seconds_bucket{strategy="lock",mode="write",role="serving",le="+Inf"} 100
        latchkey_lock_wait_seconds_sum{strategy="lock",mode="write",role="serving"} 1.5e-05
        latchkey_lock_wait_seconds_count{strategy="lock",mode="write",role="serving"} 100
        latchkey_http_request_duration_seconds_sum{kind="watch"} 900.0
        latchkey_http_request_duration_seconds_sum{kind="get"} 0.5
        latchkey_http_request_duration_seconds_count{kind="get"} 7
        process_cpu_seconds_total 12.5
        """

    @Test func `the serving lock, other locks and the requests are told apart`() {
        let reading = MetricsReading(text: Self.text)
        #expect(Set(reading.serving.keys) == ["lock"])
        let serving = reading.serving["lock"]
        #expect(serving?.operations == 7)
        #expect(serving?.contended == 2)
        #expect(serving?.wait == .init(count: 100, seconds: 1.5e-5))
        #expect(serving?.waitBound(0.9) == 1e-7)
        #expect(serving?.waitBound(0.99) == .infinity)
        #expect(reading.requests == .init(count: 7, seconds: 0.5))
        #expect(reading.processorSeconds == 12.5)
    }

    @Test func `the difference of two readings is what was between them`() {
        let before = MetricsReading(text: Self.text)
        var after = before
        after.serving["lock"]?.operations += 10
        after.serving["lock"]?.waitBuckets[.infinity, default: 0] += 3
        after.serving["spin"] = LockUse(operations: 2)
        after.requests.count += 4
        after.processorSeconds += 1
        let between = after.since(before)
        #expect(between?.serving["lock"]?.operations == 10)
        #expect(between?.serving["lock"]?.waitBuckets == [1e-7: 0, .infinity: 3])
        #expect(between?.serving["lock"]?.wait == .init())
        #expect(between?.serving["spin"]?.operations == 2, "a strategy that serves since then")
        #expect(between?.requests == .init(count: 4, seconds: 0))
        #expect(between?.processorSeconds == 1)
        #expect(before.since(after) == nil, "a restart")
        #expect(MetricsReading().since(before) == nil, "a restart with another strategy")
    }
}
