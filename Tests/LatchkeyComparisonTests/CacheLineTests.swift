import Foundation
import LatchkeyMachine
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

/// The distance of a cache line during a run, and the repeats that do not count because it jumped.
@Suite(.offPool)
struct CacheLineTests {
    private static func repeats(_ readings: [[Double]?]) -> [ComparisonReport.Repeat] {
        var repeats = LatchkeyComparisonTests.repeats(readings.map { _ in 1 })
        for index in readings.indices { repeats[index].lineNanoseconds = readings[index] }
        return repeats
    }

    private static let steady = [90.0, 110], moved = [100.0, 400]

    @Test(
        arguments: [
            ([], false), ([60], false), ([60, 119], false), ([60, 120], true), ([120, 60], true),
            ([60, 61, 240, 60], true),
        ] as [([Double], Bool)]
    )
    func `a reading twice as great as another is a jump`(readings: [Double], expected: Bool) {
        #expect(ComparisonReport.CacheLine.jumps(readings) == expected)
    }

    @Test func `a machine that changed during a run is told, single readings are not`() {
        func told(_ readings: [Double]) -> Bool {
            ComparisonReport.CacheLine.movement(readings) != nil
        }
        #expect(!told([]) && !told([400]) && !told([60, 119]) && told([60, 120]))
        let near = [Double](repeating: 60, count: 18)
        #expect(!told(near + [400, 400]))
        #expect(told(near.dropLast() + [400, 400, 400]))
    }

    @Test func `a repeat in which the way jumped is left out`() {
        let found = Self.repeats([Self.steady, [390, 420], Self.moved, nil, [], [401]])
            .marked(threads: 2)
        #expect(found.map(\.isLeftOut) == [nil, nil, true, nil, nil, nil])
        #expect(found.map(\.index) == [0, 1, 2, 3, 4, 5])
        #expect(found.counted.map(\.index) == [0, 1, 3, 4, 5])
    }

    @Test func `if most repeats would be left out, or too few stay, none is left out`() {
        func left(_ moved: Int, of count: Int, threads: Int = 2) -> Int {
            Self.repeats(
                [[Double]](repeating: Self.moved, count: moved)
                    + [[Double]](repeating: Self.steady, count: count - moved)
            ).marked(threads: threads).count { $0.isLeftOut == true }
        }
        #expect(left(5, of: 10) == 5)
        #expect(left(6, of: 10) == 0)
        #expect(left(2, of: 5) == 2)
        #expect(left(3, of: 5) == 0)
        #expect(left(2, of: 4) == 0)
        #expect(left(0, of: 0) == 0)
        // A single thread hands no cache line to another one.
        #expect(left(2, of: 5, threads: 1) == 0)
    }

    @Test func `a summary is of the repeats that count`() {
        var repeats = LatchkeyComparisonTests.repeats([10, 20, 30, 1_000])
        repeats[3].isLeftOut = true
        let summary = ComparisonReport.Summary(repeats)
        #expect(summary.operationsPerSecond.median == 20)
        #expect(summary.operationsPerSecond.max == 30)
    }

    // MARK: A run

    /// A report of a run with planted readings.
    private static func report(
        processors: [Int] = [0, 1],
        _ trips: @escaping @Sendable (CacheLineProbe.Pair) -> [Float]
    ) async throws -> ComparisonReport {
        var settings = ComparisonSettings()
        settings.strategies = [.lock]
        settings.threads = [2]
        settings.durationSeconds = 0.005
        settings.repeats = 6
        let probe = CacheLineProbe(processors: processors, trips: trips)
        let run = try ComparisonRun(settings, version: "test", probe: probe)
        return try run.run().report
    }

    @Test(.timeLimit(.minutes(15)))
    func `a run reads the cache line before and after each slice, and gives one figure`()
        async throws
    {
        let count = Guarded(0)
        let report = try await Self.report { _ in
            // Three cases of six repeats: the last twelve slices, but for a reading, are far apart.
            let number = count.write { count in
                count += 1
                return count
            }
            return [Float](repeating: number <= 13 ? 100 : 400, count: 20)
        }
        let line = try #require(report.fingerprint.cacheLine)
        #expect(abs((line.averageNanoseconds ?? 0) - 100 * pow(4, 23.0 / 36)) < 1e-6)
        #expect(line.missingBecause == nil)
        #expect(
            report.conditions.disturbances.last
                == "The processors were moved: a cache line took 100 ns in one part of the run, "
                + "400 ns in another. Another run can name another strategy."
        )
        let repeats = (report.cases + report.baselines).flatMap(\.repeats)
        #expect(repeats.allSatisfy { $0.lineNanoseconds?.count == 2 })
        #expect(repeats.count { ComparisonReport.CacheLine.jumps($0.lineNanoseconds ?? []) } == 1)
        #expect(repeats.count { $0.isLeftOut == true } <= 1)
    }

    @Test(.timeLimit(.minutes(15)))
    func `on one processor a run says that there is no pair`() async throws {
        let report = try await Self.report(processors: [3]) { _ in
            [Float](repeating: 100, count: 20)
        }
        let line = try #require(report.fingerprint.cacheLine)
        #expect(line.averageNanoseconds == nil)
        #expect(
            line.missingBecause == "There is no pair: this process may run on one processor only."
        )
        #expect(report.cases.flatMap(\.repeats).allSatisfy { $0.isLeftOut == nil })
    }

    @Test(.timeLimit(.minutes(15)))
    func `where others keep the processors busy, a run says so and goes on`() async throws {
        let report = try await Self.report { _ in [] }
        let line = try #require(report.fingerprint.cacheLine)
        #expect(line.missingBecause == "Other threads kept the processors busy.")
        #expect(report.cases[0].repeats.count == 6)
    }
}
