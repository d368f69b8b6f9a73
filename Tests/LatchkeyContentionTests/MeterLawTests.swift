import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyContention

/// The promises of every meter, for every strategy and level.
@Suite(.timeLimit(.minutes(15)), .serialized, .offPool) struct MeterLaws {
    static let levels: [MeteringLevel] = [.counts, .sampled, .full]
    static let threads = 4
    static let rounds = 300

    /// All laws about one reading: the traffic takes most of the time.
    @Test(arguments: Depth.kinds, levels)
    func `acquisitions are exact, and so is what the level times`(
        kind: StrategyKind,
        level: MeteringLevel
    ) {
        let reading = kind.accept(Traffic(level: level))
        #expect(reading.read.acquisitions == UInt64(Self.threads * Self.rounds + 1))
        #expect(reading.write.acquisitions == UInt64(Self.threads * Self.rounds * 2))
        #expect(reading.waiters == 0)
        #expect(reading.threads >= 1)
        #expect(reading.read.contended <= reading.read.acquisitions)
        #expect(reading.write.contended <= reading.write.acquisitions)
        #expect(reading.handOffs < reading.read.acquisitions + reading.write.acquisitions)
        for mode in AccessMode.allCases {
            switch level {
            case .off: break
            case .counts: Self.expectContendedIsTimed(reading[mode])
            case .sampled: Self.expectSamplesStandForAll(reading[mode], threads: reading.threads)
            case .full: Self.expectAllIsTimed(reading[mode])
            }
        }
    }

    private static func expectContendedIsTimed(_ found: ContentionReading.Mode) {
        #expect(found.wait.timed == found.contended)
        #expect(found.hold.timed == 0)
    }

    /// Each sample stands for those since the last.
    private static func expectSamplesStandForAll(_ found: ContentionReading.Mode, threads: Int) {
        let gapMax = 2 * Traffic.samplingMean - 1
        for durations in [found.wait, found.hold] {
            let weight = durations.buckets.reduce(0, +)
            #expect(weight <= found.acquisitions)
            // The accesses of a thread after its last sample are in no sample yet.
            #expect(weight + UInt64(gapMax * threads) >= found.acquisitions)
            #expect(durations.timed < found.acquisitions / 2)
        }
    }

    private static func expectAllIsTimed(_ found: ContentionReading.Mode) {
        for durations in [found.wait, found.hold] {
            #expect(durations.timed == found.acquisitions)
            #expect(durations.buckets.reduce(0, +) == found.acquisitions)
            #expect(durations.sumNanoseconds >= durations.maxNanoseconds)
        }
    }

    @Test func `the share that is sampled is the one asked for`() {
        let meter = ContentionMeter(LockStrategy.self, level: .sampled, samplingMean: 16)
        let synchronized = Synchronized(0, strategy: meter.metered(LockStrategy()))
        for _ in 0..<100_000 { synchronized.write { $0 += 1 } }
        let timed = Double(meter.reading.write.wait.timed)
        // Seven standard deviations.
        #expect(abs(timed - 100_000 / 16) < 0.05 * 100_000 / 16)
    }
}

/// Two writes and a read, again and again, from several threads by submitting, and
/// one of the writes through a blocking one where there are any.
struct Traffic: StrategyVisitor {
    static let samplingMean = 8

    let level: MeteringLevel

    func visit<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> ContentionReading {
        drive(strategy) { submit(2, to: $0) }
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> ContentionReading {
        drive(strategy) { synchronized in
            synchronized.write { $0 += 1 }
            submit(1, to: synchronized)
        }
    }

    private func drive<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type,
        _ round: @escaping @Sendable (Synchronized<Int, Metered<ChosenStrategy>>) -> Void
    ) -> ContentionReading {
        let meter = ContentionMeter(strategy, level: level, samplingMean: Self.samplingMean)
        let synchronized = Synchronized(0, strategy: meter.metered(ChosenStrategy()))
        let ended = TestThread.run(MeterLaws.threads) { _ in
            for _ in 0..<MeterLaws.rounds { round(synchronized) }
        }
        precondition(ended, "A thread hangs.")
        // A write's completion may run before the write has left: one more read comes after it.
        submit(0, to: synchronized)
        return meter.reading
    }

    /// Submits this many writes and one read, each after the one before has completed.
    private func submit(
        _ writes: Int,
        to synchronized: Synchronized<Int, Metered<some Strategy>>
    ) {
        let done = Gate()
        do throws(BacklogFull) {
            for _ in 0..<writes {
                try synchronized.submitWrite({ $0 += 1 }, completion: { done.open() })
                done.pass()
            }
            try synchronized.submitRead({ _ in }, completion: { done.open() })
            done.pass()
        } catch {
            preconditionFailure("The traffic does not fill the backlog.")
        }
    }
}
