import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyContention

/// What every meter promises, over every strategy and level.
@Suite(.timeLimit(.minutes(2)), .serialized) struct MeterLaws {
    static let levels: [MeteringLevel] = [.counts, .sampled, .full]
    static let threads = 4
    static let rounds = 600

    @Test(arguments: StrategyKind.allCases, levels)
    func `acquisitions are exact`(kind: StrategyKind, level: MeteringLevel) async {
        let reading = await offPool { kind.accept(Traffic(level: level)) }
        #expect(reading.read.acquisitions == UInt64(Self.threads * Self.rounds + 1))
        #expect(reading.write.acquisitions == UInt64(Self.threads * Self.rounds * 2))
        #expect(reading.waiters == 0)
        #expect(reading.threads >= 1)
        #expect(reading.read.contended <= reading.read.acquisitions)
        #expect(reading.write.contended <= reading.write.acquisitions)
        #expect(reading.handOffs < reading.read.acquisitions + reading.write.acquisitions)
    }

    @Test(arguments: StrategyKind.allCases)
    func `with full, everything is timed`(kind: StrategyKind) async {
        let reading = await offPool { kind.accept(Traffic(level: .full)) }
        for mode in AccessMode.allCases {
            for durations in [reading[mode].wait, reading[mode].hold] {
                #expect(durations.timed == reading[mode].acquisitions)
                #expect(durations.buckets.reduce(0, +) == reading[mode].acquisitions)
                #expect(durations.sumNanoseconds >= durations.maxNanoseconds)
            }
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `with sampled, each sample stands for those since the last`(kind: StrategyKind) async {
        let traffic = Traffic(level: .sampled, samplingMean: 8)
        let reading = await offPool { kind.accept(traffic) }
        let gapMax = 2 * 8 - 1
        for mode in AccessMode.allCases {
            for durations in [reading[mode].wait, reading[mode].hold] {
                let weight = durations.buckets.reduce(0, +)
                #expect(weight <= reading[mode].acquisitions)
                // What each thread asked for after its last sample is in no sample yet.
                let open = UInt64(gapMax * reading.threads)
                #expect(weight + open >= reading[mode].acquisitions)
                #expect(durations.timed < reading[mode].acquisitions / 2)
            }
        }
    }

    @Test(arguments: StrategyKind.allCases)
    func `with counts, only contended waits are timed`(kind: StrategyKind) async {
        let reading = await offPool { kind.accept(Traffic(level: .counts)) }
        for mode in AccessMode.allCases {
            #expect(reading[mode].wait.timed == reading[mode].contended)
            #expect(reading[mode].hold.timed == 0)
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
    var level: MeteringLevel
    var samplingMean = 4

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
        let meter = ContentionMeter(strategy, level: level, samplingMean: samplingMean)
        let synchronized = Synchronized(0, strategy: meter.metered(ChosenStrategy()))
        let ended = TestThread.run(MeterLaws.threads) { _ in
            for _ in 0..<MeterLaws.rounds { round(synchronized) }
        }
        precondition(ended, "A thread hangs.")
        // A write's completion may run before the write has left: one more read comes after it.
        submit(0, to: synchronized)
        return meter.reading
    }

    /// So many writes and one read, each after the one before has completed.
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
