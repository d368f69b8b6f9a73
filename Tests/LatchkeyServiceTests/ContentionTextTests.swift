import Foundation
import LatchkeyHTTP
import LatchkeyMachine
import LatchkeyStrategies
import Testing

@testable import LatchkeyContention
@testable import LatchkeyFrame
@testable import LatchkeyService

/// The contention as text for people.
@Suite struct ContentionTexts {
    private static func meter(
        _ kind: StrategyKind,
        role: MeterRole,
        count: Int
    ) -> ContentionReport.Row {
        let meter = ContentionMeter(
            strategy: kind.rawValue,
            traits: kind.traits,
            role: role,
            level: .counts
        )
        var row = ContentionReport.Row(meter)
        row.since = Date(timeIntervalSince1970: 0)
        row.acquisitions.all = UInt64(count)
        row.contendedRatio = 0.0312
        row.waitTotalNanoseconds = 999_949
        row.wait.all = ContentionReport.Durations(
            timedCount: 1,
            meanNanoseconds: 1,
            p50Nanoseconds: 999_949,
            p90Nanoseconds: 1,
            p99Nanoseconds: 999_950,
            p999Nanoseconds: 1,
            maxNanoseconds: 12_345_678_901
        )
        return row
    }

    private static func report(_ rows: [ContentionReport.Row]) -> ContentionReport {
        ContentionReport(generatedAt: Date(timeIntervalSince1970: 10), rows: rows)
    }

    /// The rate is that of the time that each has served.
    @Test func `several strategies that have served are this`() {
        let rows = [StrategyKind.lock, .adaptive].map { kind in
            var row = Self.meter(kind, role: .serving, count: 1_000)
            row.servesNow = kind == .adaptive
            row.servedSeconds = kind == .adaptive ? 2 : 150
            return row
        }
        let text = "\(ContentionText(report: Self.report(rows), profile: nil))"
        #expect(
            text.prefix { $0 != "F" } == """
                strategy  role     rate/s  contended  wait total     p99     max
                adaptive  serving     500      3.1 %    999.9 µs  1.0 ms  12.3 s
                lock      served        7      3.1 %    999.9 µs  1.0 ms  12.3 s

                Served: adaptive 2 s (now), lock 2 min.

                Hottest: the store (adaptive) has 100 % of the total wait, 999.9 µs.


                """
        )
    }

    @Test func `one strategy without a profile is this`() {
        let report = Self.report([Self.meter(.lock, role: .serving, count: 123_456)])
        #expect(
            "\(ContentionText(report: report, profile: nil))" == """
                strategy  role     rate/s  contended  wait total     p99     max
                lock      serving     12k      3.1 %    999.9 µs  1.0 ms  12.3 s

                Hottest: the store (lock) has 100 % of the total wait, 999.9 µs.

                Figures of the last 10 s, level counts. POST /v1/contention/reset starts again.

                Start the service with --profile to see who blocks whom.

                """
        )
    }

    @Test func `the places are in the order of what they cost`() {
        func sample(_ holder: CallSite, _ milliseconds: UInt64) -> ProfileSample {
            ProfileSample(
                lock: ProfileSample.Lock(name: nil, strategy: "lock"),
                mode: .write,
                holder: ProfileSample.Place(site: holder, addresses: []),
                waiter: ProfileSample.Place(site: CallSite("A/W.swift", 7), addresses: []),
                count: 100,
                nanoseconds: milliseconds * 1_000_000
            )
        }
        let long = CallSite("LatchkeyService/AFileWithAVeryLongNameIndeed.swift", 4321)
        let profile = ProfileReading(
            interval: 100,
            started: Date(timeIntervalSince1970: 0),
            nanoseconds: 1,
            lostCount: 5,
            samples: [sample(long, 1), sample(CallSite("A/Slow.swift", 1), 3)]
        )
        let text = "\(ContentionText(report: Self.report([]), profile: profile))"
        #expect(
            text == """
                Nothing is measured: the service runs with --metering off.

                Who blocks whom, since the start (1 wait in 100, 5 not recorded):
                holder                         waiter        share    wait
                A/Slow.swift:1                 A/W.swift:7  75.0 %  3.0 ms
                …eryLongNameIndeed.swift:4321  A/W.swift:7  25.0 %  1.0 ms

                """
        )
    }

    @Test func `no line is longer than 80 characters`() {
        let rows = StrategyKind.allCases.flatMap { kind in
            [MeterRole.serving, .comparison].map {
                Self.meter(kind, role: $0, count: 9_999_000_000)
            }
        }
        var report = Self.report(rows)
        report.hottest = String(repeating: "Some words about a stripe of the store. ", count: 9)
        let place = ProfileSample.Place(
            site: CallSite("Module/AFileWithAVeryLongNameIndeedAndMore.swift", 99_999),
            addresses: []
        )
        let sample = ProfileSample(
            lock: ProfileSample.Lock(name: nil, strategy: "lock"),
            mode: .write,
            holder: place,
            waiter: place,
            count: 1,
            nanoseconds: 999_900_000_000
        )
        let profile = ProfileReading(
            interval: 100,
            started: Date(timeIntervalSince1970: 0),
            nanoseconds: 1,
            lostCount: 1_000_000,
            samples: [sample]
        )
        let text = "\(ContentionText(report: report, profile: profile))"
        #expect(text.split { $0.isWhitespace }.joined(separator: " ").contains("words about a"))
        for line in text.split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test(arguments: [
        ("*/*", false), ("text/plain", true), ("text/plain, */*", true), ("text/*", true),
        ("application/json, text/plain, */*", false), ("text/plain;q=0.5, application/json", false),
        ("text/plain;q=0.5, */*", false), ("text/plain, application/json;q=0.9", true),
        ("text/plain;q=0", false), ("TEXT/PLAIN; charset=utf-8", true), ("text/html", false),
        ("", false), ("text/plain;q=x", false),
    ])
    func `text is sent to clients that prefer it`(accept: String, isText: Bool) {
        #expect(MediaType.prefersText(Array(accept.utf8)) == isText)
        #expect(!MediaType.prefersText([UInt8]?.none))
    }
}
