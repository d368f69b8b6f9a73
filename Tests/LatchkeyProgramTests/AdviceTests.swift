import LatchkeyReport
import LatchkeyStrategies
import Testing

@testable import latchkey

/// The advice that follows from planted readings.
@Suite struct AdviceTests {
    /// Ten slices of a second, with 100,000 accesses and a busy processor each.
    ///
    /// The waits are the means of an access in microseconds; those of a shadow go up and down from
    /// slice to slice by its noise.
    private func observation(
        wait: Double,
        shadows: [String: (wait: Double, noise: Double)] = [:],
        operations: Double = 100_000
    ) -> Observation {
        func use(_ operations: Double, _ microseconds: Double) -> LockUse {
            let isLong = microseconds > 10
            return LockUse(
                operations: operations,
                contended: operations * min(1, microseconds / 10),
                wait: .init(count: operations, seconds: operations * microseconds / 1e6),
                hold: .init(count: operations, seconds: operations * 0.5e-6),
                waitBuckets: [
                    1e-7: 0, 1e-5: isLong ? 0 : operations, 1e-3: operations,
                    .infinity: operations,
                ]
            )
        }
        let slices = (0..<10).map { index in
            Observation.Slice(
                serving: use(operations, wait),
                shadows: shadows.mapValues { shadow in
                    let noise = [-1.0, 0.3, 1, -0.6, 0.3][index % 5] * shadow.noise
                    return use(operations / 16, max(0, shadow.wait + noise))
                },
                requests: .init(count: operations, seconds: operations * 20e-6),
                processorSeconds: 1
            )
        }
        return Observation(strategy: "lock", seconds: 10, slices: slices)
    }

    @Test func `an idle service, and one with too few samples, is told to ask again`() {
        for operations in [0.0, 4.9] {
            let advice = Advice(observation(wait: 5, operations: operations))
            #expect(advice.verdict == .tooLittleTraffic)
            #expect(advice.headline == "There is too little traffic to tell: keep `lock`.")
            #expect(advice.waitShare == nil)
        }
        #expect(Advice(observation(wait: 5, operations: 5)).verdict != .tooLittleTraffic)
        var sampled = observation(wait: 5, operations: 600)
        sampled.samplingMean = 128
        #expect(Advice(sampled).verdict == .tooLittleTraffic)
    }

    @Test func `a lock without contention is no bottleneck, and the share says so`() throws {
        let advice = Advice(observation(wait: 0.1, shadows: ["lock": (0.1, 0), "spin": (0, 0)]))
        #expect(advice.verdict == .notBottleneck)
        #expect(advice.headline == "Your lock is not your bottleneck: keep `lock`.")
        // 10 ms of waits in a second of processor time.
        #expect(abs(try #require(advice.waitShare) - 0.01 / 1.01) < 1e-9)
        #expect(advice.reason.contains("takes 1.0 % of the service's busy time"))
        #expect(advice.flip.contains("takes 5 % of the busy time, which is 5.26 times as much"))
        #expect(abs(try #require(advice.waitShareOfRequests) - 0.005) < 1e-9)
    }

    @Test func `the share at which a lock becomes a bottleneck is a bound`() {
        // w / (1 + w) = 5 %, with 100,000 accesses a second.
        let bound = 0.05 / 0.95 * 10
        #expect(Advice(observation(wait: bound * 0.999)).verdict == .notBottleneck)
        #expect(Advice(observation(wait: bound * 1.001)).verdict == .shadowsNeeded)
    }

    @Test func `reading the clock is no wait`() {
        var seen = observation(wait: 1)
        #expect(Advice(seen).verdict == .shadowsNeeded)
        seen.clockSeconds = 0.6e-6
        #expect(Advice(seen).verdict == .notBottleneck)
    }

    @Test(arguments: [[], ["lock"], ["spin", "adaptive"], ["lock", "actor"]])
    func `a contended lock without the shadows to compare asks for them`(names: [String]) {
        let shadows = names.map { ($0, (wait: 1.0, noise: 0.0)) }
        var seen = observation(wait: 5, shadows: Dictionary(uniqueKeysWithValues: shadows))
        seen.incomparable = ["actor"]
        let advice = Advice(seen)
        #expect(advice.verdict == .shadowsNeeded)
        #expect(advice.reason.contains("--shadow lock,read-write-lock,snapshot,adaptive,spin"))
    }

    @Test func `a shadow that waits less is worth a switch, with its gain and interval`() throws {
        let advice = Advice(
            observation(
                wait: 5,
                shadows: ["lock": (5, 0.2), "adaptive": (2, 0.2), "spin": (4, 0.2)]
            )
        )
        #expect(advice.verdict == .switch)
        #expect(advice.switchTo == "adaptive")
        let best = try #require(advice.candidates.first)
        // Three microseconds of 100,000 accesses, of a second and half a second of waits.
        #expect(abs(best.gain - 0.2) < 0.001)
        #expect(best.gainLow <= best.gain && best.gain <= best.gainHigh && best.gainLow > 0)
        #expect(advice.candidates.map(\.strategy) == ["adaptive", "spin"])
        #expect(advice.headline.hasPrefix("Use `adaptive`: it would save 20 % of the busy"))
        #expect(advice.flip.contains("less than 5 %"))
    }

    /// A jammed lock and its shadow that is jammed even more, as a run over HTTP had it.
    @Test func `a shadow that waits longer than the lock itself saves no more than there is`()
        throws
    {
        let advice = Advice(
            observation(wait: 5, shadows: ["lock": (500, 20), "adaptive": (0.1, 0)])
        )
        #expect(advice.switchTo == "adaptive")
        let gain = try #require(advice.candidates.first?.gain)
        // All waits and holds: 0.5 and 0.05 of 1.5 seconds.
        #expect(gain > 0.35 && gain < 0.55 / 1.5, "\(gain)")
    }

    @Test func `one holder that lost its processor does not decide`() {
        var seen = observation(wait: 5, shadows: ["lock": (5, 0.2), "adaptive": (1, 0.1)])
        seen.slices[3].shadows["adaptive"]?.hold.seconds += 2
        let advice = Advice(seen)
        #expect(advice.switchTo == "adaptive", "\(advice.candidates)")
    }

    @Test func `of those that save as much, the preferred one is named, and not the best figure`() {
        let shadows = [
            "lock": (wait: 5.0, noise: 0.1), "spin": (1.0, 0.1), "adaptive": (1.1, 0.1),
            "semaphore": (4.2, 0.1),
        ]
        let advice = Advice(observation(wait: 5, shadows: shadows))
        #expect(advice.candidates.first?.strategy == "spin")
        #expect(advice.switchTo == "adaptive")
    }

    @Test func `what may save as much, and saves far less, is not named`() {
        // The interval of adaptive is wide, and reaches that of spin.
        let shadows = [
            "lock": (wait: 5.0, noise: 0.1), "spin": (1.0, 0.1), "adaptive": (2.6, 3),
        ]
        let advice = Advice(observation(wait: 5, shadows: shadows))
        #expect(advice.candidates[1].gainLow > 0)
        #expect(advice.candidates[1].gainHigh > advice.candidates[0].gainLow)
        #expect(advice.switchTo == "spin", "\(advice.candidates)")
    }

    /// Of any candidates, in the order of what they save.
    @Test func `the named one is as good as the best, and the most preferred of those`() {
        var random = SystemRandomNumberGenerator()
        let names = StrategyKind.allCases.map(\.rawValue) + ["a-newer-one"]
        for _ in 0..<5_000 {
            let better = names.shuffled(using: &random).prefix(.random(in: 0...6, using: &random))
                .map { name in
                    let gain = Double.random(in: 0.05...0.5, using: &random)
                    let width = Double.random(in: 0...0.3, using: &random)
                    return Advice.Candidate(
                        strategy: name,
                        gain: gain,
                        gainLow: gain - width,
                        gainHigh: gain + width,
                        sliceCount: 10
                    )
                }.sorted { $0.gain > $1.gain }
            let named = Advice.preferred(of: better)
            #expect((named == nil) == better.isEmpty)
            guard let named, let best = better.first else { continue }
            func isAsGood(_ candidate: Advice.Candidate) -> Bool {
                let overlaps = candidate.gainHigh >= best.gainLow
                return overlaps && candidate.gain >= 0.8 * best.gain
            }
            #expect(isAsGood(named), "\(named) of \(better)")
            func place(_ name: String) -> Int {
                Preference.builtIn.firstIndex { $0.rawValue == name } ?? .max
            }
            let first = better.filter(isAsGood).min { place($0.strategy) < place($1.strategy) }
            #expect(named == first, "\(named) of \(better)")
        }
    }

    @Test(arguments: [(0.89, nil), (0.9, "snapshot")] as [(Double, String?)])
    func `what copies is named only where reads dominate`(reads: Double, name: String?) {
        var seen = observation(wait: 5, shadows: ["lock": (5, 0.1), "snapshot": (1, 0.1)])
        for index in seen.slices.indices {
            seen.slices[index].serving.reads = reads * seen.slices[index].serving.operations
        }
        let advice = Advice(seen)
        #expect(advice.switchTo == name)
        #expect(advice.copying == (name == nil ? ["snapshot"] : []))
        #expect((advice.paragraphs.last?.contains("writers copy") == true) == (name == nil))
        let copies = advice.headline.hasPrefix("Use `snapshot`, whose writers copy the value: it ")
        #expect(copies == (name != nil), "\(advice.headline)")
    }

    @Test func `the hottest lock is named where the lock costs much`() {
        var seen = observation(wait: 5, shadows: ["lock": (5, 0.1), "spin": (1, 0.1)])
        seen.hottest = "Hottest: stripe 3 of 4 (lock) has 90 % of the total wait, 1.0 s."
        #expect(Advice(seen).paragraphs.contains(seen.hottest ?? ""))
        seen.slices = observation(wait: 0.1).slices
        #expect(!Advice(seen).paragraphs.contains(seen.hottest ?? ""))
    }

    @Test func `a difference within the noise is none`() {
        let advice = Advice(
            observation(wait: 5, shadows: ["lock": (5, -2), "adaptive": (3, 2), "spin": (6, 1)])
        )
        #expect(advice.verdict == .keep)
        #expect(advice.candidates[0].gain > Advice.shareMin)
        #expect(advice.candidates[0].gainLow < 0)
        #expect(advice.headline == "Nothing better found: keep `lock`.")
        #expect(advice.reason.contains("The best other one, adaptive, would save"))
    }

    @Test func `a lock that waits far longer than its own shadow is undecided`() {
        var shadows = ["lock": (wait: 2.4, noise: 0.0), "adaptive": (wait: 2.4, noise: 0.0)]
        let advice = Advice(observation(wait: 5, shadows: shadows))
        #expect(advice.verdict == .undecided)
        #expect(advice.reason.contains("A wait is 5.00 µs on average, but 2.40 µs in its own"))
        #expect(advice.reason.contains("--shadow-sample 1/1"))
        var whole = observation(wait: 5, shadows: shadows)
        whole.isWholeSample = true
        #expect(Advice(whole).reason.contains("'latchkey compare'"))
        shadows["lock"]?.wait = 2.6
        shadows["adaptive"]?.wait = 2.6
        #expect(Advice(observation(wait: 5, shadows: shadows)).verdict == .keep)
        // What a quiet shadow gains, it would gain all the more.
        shadows["lock"]?.wait = 2
        shadows["adaptive"]?.wait = 0.1
        #expect(Advice(observation(wait: 5, shadows: shadows)).verdict == .switch)
    }

    @Test func `a certain gain that is small is none`() {
        let advice = Advice(
            observation(wait: 5, shadows: ["lock": (5, 0), "adaptive": (4.5, 0)])
        )
        #expect(advice.candidates[0].gainLow > 0)
        #expect(advice.verdict == .keep)
    }

    @Test func `a strategy whose longest waits are far longer is not recommended`() throws {
        var seen = observation(wait: 5, shadows: ["lock": (5, 0), "spin": (1, 0)])
        #expect(Advice(seen).switchTo == "spin")
        for index in seen.slices.indices {
            seen.slices[index].shadows["spin"]?.waitBuckets[1e-5] = 0
        }
        #expect(Advice(seen).verdict == .keep)
    }

    @Test func `shadows with too few samples are not compared`() {
        var seen = observation(wait: 5, shadows: ["lock": (5, 0), "spin": (1, 0)])
        for index in seen.slices.indices.dropFirst(Advice.sliceCountMin - 1) {
            seen.slices[index].shadows["spin"]?.wait.count = 0
        }
        let advice = Advice(seen)
        #expect(advice.verdict == .tooLittleTraffic)
        #expect(advice.candidates.isEmpty)
    }

    @Test func `strategies that apply writes later are neither compared nor recommended`() {
        var seen = observation(
            wait: 5,
            shadows: ["lock": (5, 0), "actor": (0, 0), "spin": (4.9, 0)]
        )
        seen.incomparable = ["actor"]
        #expect(Advice(seen).candidates.map(\.strategy) == ["spin"])
        #expect(Advice(seen).paragraphs.last?.hasSuffix(" later: actor.") == true)
        seen.incomparable = ["lock"]
        #expect(Advice(seen).verdict == .incomparable)
    }
}

/// What is read from the metrics of a service.
@Suite struct MetricsReadingTests {
    private static let text = """
        # HELP latchkey_lock_acquisitions_total Entries into the guarded section.
        # TYPE latchkey_lock_acquisitions_total counter
        latchkey_lock_acquisitions_total{strategy="lock",mode="read",role="serving"} 3
        latchkey_lock_acquisitions_total{strategy="lock",mode="write",role="serving"} 4
        latchkey_lock_acquisitions_total{strategy="lock",mode="write",role="shadow"} 5
        latchkey_lock_acquisitions_total{lock="own",strategy="lock",mode="write"} 50
        latchkey_lock_contended_total{strategy="lock",mode="write",role="serving"} 2
        latchkey_lock_wait_seconds_bucket{strategy="lock",mode="write",role="serving",le="1e-07"} 90
        latchkey_lock_wait_seconds_bucket{strategy="lock",mode="write",role="serving",le="+Inf"} 100
        latchkey_lock_wait_seconds_sum{strategy="lock",mode="write",role="serving"} 1.5e-05
        latchkey_lock_wait_seconds_count{strategy="lock",mode="write",role="serving"} 100
        latchkey_http_request_duration_seconds_sum{method="GET",route="/v1/watch"} 900.0
        latchkey_http_request_duration_seconds_sum{method="GET",route="/v1/properties/{name}"} 0.5
        latchkey_http_request_duration_seconds_count{method="GET",route="/v1/properties/{name}"} 7
        process_cpu_seconds_total 12.5
        """

    @Test func `the serving lock, its shadows and the requests are told apart`() {
        let reading = MetricsReading(text: Self.text)
        #expect(Set(reading.serving.keys) == ["lock"])
        let serving = reading.serving["lock"]
        #expect(serving?.operations == 7)
        #expect(serving?.reads == 3)
        #expect(serving?.contended == 2)
        #expect(serving?.wait == .init(count: 100, seconds: 1.5e-5))
        #expect(serving?.waitBound(0.9) == 1e-7)
        #expect(serving?.waitBound(0.99) == .infinity)
        #expect(reading.shadows["lock"]?.operations == 5)
        #expect(reading.requests == .init(count: 7, seconds: 0.5))
        #expect(reading.processorSeconds == 12.5)
    }

    @Test func `the difference of two readings is what was between them`() {
        let before = MetricsReading(text: Self.text)
        var after = before
        after.serving["lock"]?.operations += 10
        after.serving["lock"]?.waitBuckets[.infinity, default: 0] += 3
        after.shadows["spin"] = LockUse(operations: 2)
        after.processorSeconds += 1
        let slice = Observation.Slice(from: before, to: after, strategy: "lock")
        #expect(slice?.serving.operations == 10)
        #expect(slice?.serving.waitBuckets == [1e-7: 0, .infinity: 3])
        #expect(slice?.shadows["spin"]?.operations == 2)
        #expect(slice?.shadows["lock"]?.operations == 0)
        #expect(slice?.processorSeconds == 1)
        #expect(Observation.Slice(from: after, to: before, strategy: "lock") == nil, "a restart")
    }
}
