import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyContention

@Suite struct Report {
    @Test func `as JSON is this`() throws {
        let meter = ContentionMeter(LockStrategy.self, level: .full)
        for nanoseconds: UInt64 in [1000, 1500] { Reset.record(nanoseconds, in: meter) }
        meter.overhead = MeteringOverhead(
            strategy: "lock",
            unmeteredNanoseconds: 7,
            meteredNanoseconds: 10.5,
            overheadNanoseconds: 3.5,
            clockNanoseconds: 22
        )
        var row = ContentionReport.Row(meter, clockNanoseconds: 40)
        row.since = Date(timeIntervalSince1970: 0)
        row.servedSeconds = 12.5
        row.servesNow = true
        row.backlog = 3
        row.hold = ContentionReport.ByMode()
        let report = ContentionReport(
            generatedAt: Date(timeIntervalSince1970: 1_700_000_000),
            rows: [row]
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        let text = String(decoding: try encoder.encode(report), as: UTF8.self)
        #expect(text == Self.golden)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        #expect(try decoder.decode(ContentionReport.self, from: Data(text.utf8)) == report)
    }

    @Test func `says null for what was not measured`() {
        let meter = ContentionMeter(LockStrategy.self, level: .counts)
        let row = ContentionReport.Row(meter, clockNanoseconds: 40)
        #expect(row.wait == ContentionReport.ByMode())
        #expect(row.contendedRatio == nil)
        #expect(row.overhead == nil)
    }

    @Test func `says nothing below what reading the clock costs`() throws {
        let meter = ContentionMeter(LockStrategy.self, level: .full)
        Reset.record(1, in: meter)
        let row = ContentionReport.Row(meter, clockNanoseconds: 40)
        let wait = try #require(row.wait.write)
        #expect(wait.p50Nanoseconds == 40)
        #expect(wait.maxNanoseconds == 40)
        #expect(wait.meanNanoseconds == 40)
    }

    @Test func `says which contended figures are estimates`() {
        let lock = ContentionMeter(LockStrategy.self, level: .sampled)
        let mutex = ContentionMeter(MutexStrategy.self, level: .sampled)
        #expect(ContentionReport.Row(lock, clockNanoseconds: 0).contendedIsExact)
        #expect(!ContentionReport.Row(mutex, clockNanoseconds: 0).contendedIsExact)
    }

    @Test func `has a row for each strategy and role, the newest`() {
        let meters = ContentionMeters()
        let old = ContentionMeter(LockStrategy.self, role: .comparison, level: .full)
        let new = ContentionMeter(LockStrategy.self, role: .comparison, level: .counts)
        meters.add(ContentionMeter(LockStrategy.self, level: .full))
        meters.add(old)
        meters.add(ContentionMeter(SpinStrategy.self, role: .comparison, level: .full))
        meters.add(new)
        let rows = meters.report().rows
        #expect(rows.map(\.strategy) == ["lock", "spin", "lock"])
        #expect(rows.map(\.role) == [.serving, .comparison, .comparison])
        #expect(rows.map(\.level) == [.full, .full, .counts])
    }

    private static let golden = """
        {
          "generatedAt" : "2023-11-14T22:13:20Z",
          "rows" : [
            {
              "acquisitions" : {
                "all" : 2,
                "read" : 0,
                "write" : 2
              },
              "backlog" : 3,
              "contended" : {
                "all" : 0,
                "read" : 0,
                "write" : 0
              },
              "contendedIsExact" : true,
              "contendedRatio" : 0,
              "handOffs" : 0,
              "hold" : {
                "all" : null,
                "read" : null,
                "write" : null
              },
              "level" : "full",
              "overhead" : {
                "clockNanoseconds" : 22,
                "meteredNanoseconds" : 10.5,
                "overheadNanoseconds" : 3.5,
                "strategy" : "lock",
                "unmeteredNanoseconds" : 7
              },
              "role" : "serving",
              "samplingMean" : 1,
              "servedSeconds" : 12.5,
              "servesNow" : true,
              "since" : "1970-01-01T00:00:00Z",
              "strategy" : "lock",
              "threads" : 1,
              "traits" : {
                "asynchronousWrites" : false,
                "blocksCaller" : true,
                "concurrentReaders" : false,
                "fairHandOff" : false,
                "readsDuringWrites" : false,
                "reentrant" : false,
                "spins" : false
              },
              "wait" : {
                "all" : {
                  "maxNanoseconds" : 1500,
                  "meanNanoseconds" : 1250,
                  "p50Nanoseconds" : 1200,
                  "p90Nanoseconds" : 1500,
                  "p999Nanoseconds" : 1500,
                  "p99Nanoseconds" : 1500,
                  "timedCount" : 2
                },
                "read" : null,
                "write" : {
                  "maxNanoseconds" : 1500,
                  "meanNanoseconds" : 1250,
                  "p50Nanoseconds" : 1200,
                  "p90Nanoseconds" : 1500,
                  "p999Nanoseconds" : 1500,
                  "p99Nanoseconds" : 1500,
                  "timedCount" : 2
                }
              },
              "waitTotalNanoseconds" : 0,
              "waiters" : 0
            }
          ]
        }
        """
}
