import CLatchkeySystem
import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyContention

@Suite struct Reset {
    /// Counts an invented acquisition: a wait of this many nanoseconds and a hold of 10.
    static func record(_ nanoseconds: UInt64, in meter: ContentionMeter) {
        let probe = ContentionProbe(meter, traits: meter.traits)
        _ = probe.asks(AccessRequest(.write))
        let now = latchkey_system_nanoseconds()
        let mode = MeterLayout.Mode(true)
        probe.record(from: now - nanoseconds, to: now, weight: 1, in: mode.wait)
        probe.record(from: now - 10, to: now, weight: 1, in: mode.hold)
    }

    @Test func `restarts the report and leaves the counters alone`() throws {
        let meter = ContentionMeter(LockStrategy.self, level: .full)
        Self.record(9000, in: meter)
        meter.reset()
        #expect(meter.reading.write.acquisitions == 1)
        let empty = meter.readingSinceReset.reading
        #expect(empty.write.acquisitions == 0)
        #expect(empty.write.wait.timed == 0)
        #expect(empty.write.wait.sumNanoseconds == 0)
        #expect(empty.write.wait.maxNanoseconds == 0)
        #expect(empty.write.wait.buckets.allSatisfy { $0 == 0 })
        Self.record(500, in: meter)
        let (reading, since) = meter.readingSinceReset
        #expect(reading.write.acquisitions == 1)
        #expect(reading.write.wait.sumNanoseconds == 500)
        #expect(reading.write.wait.maxNanoseconds == 500)
        #expect(meter.reading.write.acquisitions == 2)
        #expect(since.timeIntervalSinceNow <= 0)
    }

    @Test func `does not touch the longest wait of the last minutes`() {
        let meter = ContentionMeter(LockStrategy.self, level: .full)
        Self.record(9000, in: meter)
        meter.reset()
        #expect(meter.reading.write.wait.windowMaxNanoseconds == 9000)
    }

    @Test func `of the longest wait comes with the second window after it`() {
        let meter = ContentionMeter(LockStrategy.self, level: .full)
        Self.record(9000, in: meter)
        // The wait was recorded in this window or, if it has just begun, in the one before.
        let window = ContentionMeter.window()
        func longest(after windows: UInt64) -> UInt64 {
            ContentionReading(meter.words, reset: 0, window: window + windows)
                .write.wait.windowMaxNanoseconds
        }
        #expect(longest(after: 0) == 9000)
        #expect(longest(after: 2) == 0)
        #expect(longest(after: 3) == 0)
    }
}
