import CLatchkeySystem
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyContention

/// An access that asks one guard and takes place at another one.
@Suite(.timeLimit(.minutes(15)), .offPool) struct BeginningAgain {
    private static let levels: [MeteringLevel] = [.counts, .sampled, .full]
    private static let write = AccessRequest(.write)

    private static func probe(
        _ kind: StrategyKind,
        _ level: MeteringLevel,
        samplingMean: Int = 1 << 20,
        profile: ContentionProfile? = nil
    ) -> ContentionProbe {
        let meter = ContentionMeter(
            strategy: kind.rawValue,
            traits: kind.traits,
            level: level,
            samplingMean: samplingMean,
            profile: profile
        )
        // The first acquisitions of a thread are timed at every level that has a clock.
        let probe = ContentionProbe(meter, traits: kind.traits, stripe: meter.addStripe())
        for _ in 0..<3 { enter(probe) }
        return probe
    }

    private static func enter(_ probe: ContentionProbe) {
        var entry = probe.asks(write)
        probe.enters(&entry)
        probe.leaves(entry)
    }

    private static func pass(_ nanoseconds: UInt64) {
        let start = latchkey_system_nanoseconds()
        while latchkey_system_nanoseconds() < start + nanoseconds { latchkey_system_pause() }
    }

    @Test(arguments: levels)
    func `that did not wait is one acquisition of the guard it enters`(level: MeteringLevel) {
        let (left, entered) = (Self.probe(.lock, level), Self.probe(.spin, level))
        let (before, after) = (left.meter.reading, entered.meter.reading)
        let first = left.asks(Self.write)
        left.beginsAgain(first)
        var second = entered.asksAgain(Self.write, after: first)
        entered.enters(&second)
        entered.leaves(second)
        #expect(left.meter.reading == before)
        let write = entered.meter.reading.write
        #expect(write.acquisitions == after.write.acquisitions + 1)
        #expect(write.contended == 0)
        #expect(write.wait.timed == after.write.wait.timed + (level == .full ? 1 : 0))
    }

    //   access                            scrape
    //   asks the first guard
    //   is blocked
    //                                     1 waiter at the first guard
    //   is withdrawn
    //                                     no waiter
    //   asks the second guard
    //                                     1 waiter at the second guard
    //   enters
    @Test(arguments: levels, [StrategyKind.lock, .mutex])
    func `that waited is contended where it enters, from its first ask`(
        level: MeteringLevel,
        kind: StrategyKind
    ) {
        let (left, entered) = (Self.probe(.lock, level), Self.probe(kind, level))
        let (before, after) = (left.meter.reading, entered.meter.reading)
        var first = left.asks(Self.write)
        left.isBlocked(&first)
        #expect(left.meter.reading.waiters == 1)
        Self.pass(3_000_000)
        left.beginsAgain(first)
        #expect(left.meter.reading.waiters == 0)
        var second = entered.asksAgain(Self.write, after: first)
        #expect(entered.meter.reading.waiters == 1)
        // It has to wait here too.
        entered.isBlocked(&second)
        #expect(entered.meter.reading.waiters == 1)
        entered.enters(&second)
        entered.leaves(second)
        let shown = left.meter.reading
        #expect(shown.write.wait == before.write.wait, "also the longest one")
        #expect(shown.write.waitedNanoseconds == before.write.waitedNanoseconds)
        #expect(left.meter.stripeWaitsSinceReset == [0])
        let write = entered.meter.reading.write
        #expect(entered.meter.reading.waiters == 0)
        #expect(write.acquisitions == after.write.acquisitions + 1)
        #expect(write.contended == after.write.contended + 1)
        #expect(write.wait.timed == after.write.wait.timed + 1)
        #expect(write.wait.maxNanoseconds >= 3_000_000)
        #expect(write.wait.windowMaxNanoseconds >= 3_000_000)
        #expect(write.waitedNanoseconds >= after.write.waitedNanoseconds + 3_000_000)
        #expect(entered.meter.stripeWaitsSinceReset[0] >= 3_000_000)
    }

    /// By way of three guards, each of which it waits for.
    @Test(arguments: levels) func `as often as it must is still one`(level: MeteringLevel) {
        let probes = [StrategyKind.lock, .spin, .ticket].map { Self.probe($0, level) }
        let start = probes.map(\.meter.reading.write)
        var entry = probes[0].asks(Self.write)
        for (probe, next) in zip(probes, probes[1...]) {
            probe.isBlocked(&entry)
            Self.pass(1_000_000)
            probe.beginsAgain(entry)
            entry = next.asksAgain(Self.write, after: entry)
        }
        probes[2].enters(&entry)
        probes[2].leaves(entry)
        for (probe, start) in zip(probes, start) {
            let isLast = probe === probes[2]
            #expect(probe.meter.counts.acquisitions == start.acquisitions + (isLast ? 1 : 0))
            #expect(probe.meter.reading.waiters == 0)
        }
        #expect(probes[2].meter.reading.write.wait.maxNanoseconds >= 2_000_000)
    }

    @Test(arguments: levels) func `counts never fall in a scrape`(level: MeteringLevel) {
        let probe = Self.probe(.lock, level)
        let (before, counts) = (probe.meter.reading.write, probe.meter.counts)
        var entry = probe.asks(Self.write)
        probe.isBlocked(&entry)
        let shown = probe.meter.reading.write
        #expect(shown.acquisitions == before.acquisitions + 1)
        #expect(shown.contended == before.contended + 1)
        probe.beginsAgain(entry)
        #expect(probe.meter.reading.write.acquisitions == shown.acquisitions)
        #expect(probe.meter.reading.write.contended == shown.contended)
        #expect(probe.meter.counts.acquisitions == counts.acquisitions + 1)
        // The next one takes the place of the one that was taken back.
        var next = probe.asks(Self.write)
        probe.isBlocked(&next)
        #expect(probe.meter.reading.write.acquisitions == shown.acquisitions)
        #expect(probe.meter.reading.write.contended == shown.contended)
        probe.enters(&next)
        probe.leaves(next)
        probe.meter.reset()
        #expect(probe.meter.readingSinceReset.reading.write.acquisitions == 0)
        Self.enter(probe)
        #expect(probe.meter.readingSinceReset.reading.write.acquisitions == 1)
    }

    /// If one thread takes back an ask of another one, its own count is below 0.
    @Test func `on another thread takes back what was asked`() {
        let probe = Self.probe(.serialQueueAsync, .full)
        let before = probe.meter.reading
        var entry = probe.asks(Self.write)
        probe.isBlocked(&entry)
        let asked = entry
        let other = TestThread { probe.beginsAgain(asked) }
        #expect(other.join())
        let reading = ContentionReading(probe.words, reset: 0, window: ContentionMeter.window())
        #expect(reading.write.acquisitions == before.write.acquisitions)
        #expect(reading.write.contended == before.write.contended)
        #expect(reading.waiters == 0)
    }

    /// Each sample stands for those since the last one, less those that were taken back.
    @Test func `leaves the samples as many as they stand for`() {
        // Two means, or both would draw alike.
        let probes = [
            Self.probe(.lock, .sampled, samplingMean: 5),
            Self.probe(.spin, .sampled, samplingMean: 7),
        ]
        var count = [UInt64](repeating: 3, count: 2)
        for round in 0..<20_000 {
            let at = round & 1
            guard round % 3 == 0 else {
                Self.enter(probes[at])
                count[at] += 1
                continue
            }
            let first = probes[at].asks(Self.write)
            probes[at].beginsAgain(first)
            var second = probes[1 - at].asksAgain(Self.write, after: first)
            probes[1 - at].enters(&second)
            probes[1 - at].leaves(second)
            count[1 - at] += 1
        }
        for (probe, count) in zip(probes, count) {
            let write = probe.meter.reading.write
            #expect(write.acquisitions == count)
            let weight = write.wait.buckets.reduce(0, +)
            #expect(weight <= count && weight + 13 >= count, "\(weight) of \(count)")
        }
    }

    @Test func `has each wait in the profile, of the guard where it was`() {
        let profile = ContentionProfile(oneIn: 1)
        let probes = [StrategyKind.lock, .spin].map { Self.probe($0, .counts, profile: profile) }
        var entry = probes[0].asks(Self.write)
        probes[0].isBlocked(&entry)
        probes[0].beginsAgain(entry)
        #expect(profile.sites.map(\.strategy) == ["lock"])
        entry = probes[1].asksAgain(Self.write, after: entry)
        #expect(entry.timing.profiledWait == nil, "it does not wait here yet")
        probes[1].isBlocked(&entry)
        probes[1].enters(&entry)
        probes[1].leaves(entry)
        #expect(profile.sites.map(\.count) == [1, 1])
        let watched = probes.map { $0.watch.load(ordering: .relaxed) }
        #expect(watched == [0, 0])
        #expect(profile.lostCount == 0)
    }

    /// Threads move between two guards while another one reads: no reading shows less than an
    /// earlier one, and in the end each guard has what entered it.
    @Test func `under way in many threads makes no reading smaller`() {
        let probes = [StrategyKind.readWriteLock, .snapshot].map { Self.probe($0, .full) }
        let start = probes.map(\.meter.reading)
        let rounds = 20_000
        let movers = Arrivals()
        let threads = (0..<3).map { thread in
            TestThread {
                for round in 0..<rounds {
                    let at = (round + thread) & 1
                    var entry = probes[at].asks(AccessRequest(.read))
                    if round % 4 == 0 { probes[at].isBlocked(&entry) }
                    probes[at].beginsAgain(entry)
                    entry = probes[1 - at].asksAgain(AccessRequest(.read), after: entry)
                    probes[1 - at].enters(&entry)
                    probes[1 - at].leaves(entry)
                }
                movers.arrive()
            }
        }
        var last = start.map(\.read)
        while movers.value < threads.count {
            for (index, probe) in probes.enumerated() {
                let now = probe.meter.reading.read
                #expect(now.acquisitions >= last[index].acquisitions)
                #expect(now.contended >= last[index].contended)
                last[index] = now
            }
        }
        #expect(threads.allSatisfy { $0.join() })
        let read = probes.map { probe in
            ContentionReading(probe.words, reset: 0, window: ContentionMeter.window()).read
        }
        #expect(read.map(\.acquisitions).reduce(0, +) == UInt64(3 * rounds))
        #expect(read.map(\.wait.timed).reduce(0, +) == UInt64(3 * rounds))
        #expect(read.map(\.contended).reduce(0, +) == UInt64(3 * rounds / 4))
        #expect(probes.allSatisfy { $0.meter.reading.waiters == 0 })
    }
}
