import Foundation
import LatchkeyMachine
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

/// Two modes of the processors, in planted series of readings.
@Suite(.offPool)
struct CacheLineModesTests {
    /// Readings about a time, as far apart as readings of one mode were seen to be.
    private static func readings(
        _ time: Double,
        _ count: Int,
        spread: Double = 0.15,
        _ random: inout SeededRandom
    ) -> [Double] {
        (0..<count).map { _ in time * exp(Double.random(in: -spread...spread, using: &random)) }
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `each reading is found to be of the mode that it was planted in`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let time = exp(Double.random(in: 3...7, using: &random))
        let ratio = Double.random(in: 2.6...8, using: &random)
        let count = Int.random(in: 20...400, using: &random)
        let farCount = Int.random(in: count / 10...count - count / 10, using: &random)
        let near = Self.readings(time, count - farCount, &random)
        let far = Self.readings(ratio * time, farCount, &random)
        let all = (near + far).shuffled(using: &random)
        let modes = try #require(CacheLineModes(all))
        #expect(near.allSatisfy { !modes.isFar($0) } && far.allSatisfy(modes.isFar))
        #expect(abs(log(modes.near / time)) < 0.15 && abs(log(modes.far / time / ratio)) < 0.15)
        // The order and the unit decide nothing.
        #expect(CacheLineModes(all.reversed()) == modes)
        let scaled = try #require(CacheLineModes(all.map { 1_000 * $0 }))
        #expect(abs(scaled.near / modes.near / 1_000 - 1) < 1e-9)
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `one mode stays one, whatever it is disturbed by`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let count = Int.random(in: 0...400, using: &random)
        // Evenly spread over a factor of up to four.
        let spread = Double.random(in: 0...0.69, using: &random)
        var all = Self.readings(90, count, spread: spread, &random)
        for _ in 0..<count / 25 { all.append(Double.random(in: 1_000...100_000, using: &random)) }
        // A few dozen even readings can leave their middle third empty by chance.
        if count >= 100 || spread <= 0.3 { #expect(CacheLineModes(all) == nil, "\(spread)") }
    }

    @Test func `the bounds are a factor of two, and one reading in twenty`() {
        func modes(_ near: Int, _ far: Int, _ ratio: Double) -> CacheLineModes? {
            CacheLineModes(
                [Double](repeating: 100, count: near)
                    + [Double](repeating: 100 * ratio, count: far)
            )
        }
        #expect(modes(10, 10, 2.001) != nil)
        #expect(modes(10, 10, 1.999) == nil)
        #expect(modes(95, 5, 4) != nil)
        #expect(modes(96, 4, 4) == nil)
        #expect(modes(2, 2, 4) != nil)
        #expect(modes(3, 1, 4) == nil)
        #expect(modes(0, 0, 4) == nil)
    }

    @Test func `at most one reading in ten lies between two modes`() {
        func modes(between: Int) -> CacheLineModes? {
            CacheLineModes(
                [Double](repeating: 100, count: 50) + [Double](repeating: 400, count: 50 - between)
                    + [Double](repeating: 200, count: between)
            )
        }
        #expect(modes(between: 10) != nil)
        #expect(modes(between: 11) == nil)
    }

    // MARK: Repeats

    private static let modes = CacheLineModes([100, 100, 400, 400])

    private static func repeats(_ readings: [[Double]?]) -> [ComparisonReport.Repeat] {
        var repeats = LatchkeyComparisonTests.repeats(readings.map { _ in 1 })
        for index in readings.indices { repeats[index].lineNanoseconds = readings[index] }
        return repeats
    }

    private static let near = [90.0, 110], far = [390.0, 420], changed = [100.0, 400]

    @Test func `a repeat in which the mode changed is left out, and the others know theirs`() throws
    {
        let modes = try #require(Self.modes)
        let found = Self.repeats([Self.near, Self.far, Self.changed, nil, [], [401]])
            .marked(by: modes, threads: 2)
        #expect(found.map(\.processors) == [.near, .far, .changed, nil, nil, .far])
        #expect(found.map(\.isLeftOut) == [nil, nil, true, nil, nil, nil])
        #expect(found.map(\.index) == [0, 1, 2, 3, 4, 5])
    }

    @Test func `if most repeats would be left out, or too few stay, none is`() throws {
        let modes = try #require(Self.modes)
        func left(_ changed: Int, of count: Int, threads: Int = 2) -> Int {
            Self.repeats(
                [[Double]](repeating: Self.changed, count: changed)
                    + [[Double]](repeating: Self.near, count: count - changed)
            ).marked(by: modes, threads: threads).count { $0.isLeftOut == true }
        }
        #expect(left(5, of: 10) == 5)
        #expect(left(6, of: 10) == 0)
        #expect(left(2, of: 5) == 2)
        #expect(left(3, of: 5) == 0)
        #expect(left(2, of: 4) == 0)
        #expect(left(0, of: 0) == 0)
        // One thread hands no cache line to another.
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
    func `a run reads the cache line before and after each slice, and tells its modes`()
        async throws
    {
        let count = Guarded(0)
        let report = try await Self.report { _ in
            // Three cases of six repeats, and the matrix: the last twelve slices are far apart.
            let number = count.write { count in
                count += 1
                return count
            }
            return [Float](repeating: number <= 14 ? 100 : 400, count: 20)
        }
        let line = try #require(report.fingerprint.cacheLine)
        #expect(line.pairs.map(\.roundTripNanoseconds) == [100])
        #expect(line.modes.map { $0.roundTripNanoseconds.rounded() } == [100, 400])
        #expect(abs(line.modes[0].share - 13.0 / 36) < 1e-9)
        #expect(abs((line.averageNanoseconds ?? 0) - 100 * pow(4, 23.0 / 36)) < 1e-6)
        // In the order in which they were taken.
        #expect(
            line.series == [Double](repeating: 100, count: 13) + Array(repeating: 400, count: 23)
        )
        let repeats = (report.cases + report.baselines).flatMap(\.repeats)
        #expect(repeats.allSatisfy { $0.lineNanoseconds?.count == 2 })
        #expect(repeats.count { $0.processors == .changed } == 1)
        #expect(repeats.count { $0.processors == .near } == 6)
        #expect(repeats.count { $0.processors == .far } == 11)
    }

    @Test(arguments: [1, 199, 200, 201, 400, 650, 10_000])
    func `a series has at most two hundred readings, in order`(count: Int) {
        var line = ComparisonReport.CacheLine(pairs: [], modes: [])
        _ = line.add((1...count).map(Double.init))
        let series = line.series ?? []
        #expect((1...ComparisonReport.CacheLine.seriesCountMax).contains(series.count))
        #expect(series == series.sorted())
        #expect(count > 200 || series.count == count)
    }

    @Test(.timeLimit(.minutes(15)))
    func `on one processor a run says that there is no pair`() async throws {
        let report = try await Self.report(processors: [3]) { _ in
            [Float](repeating: 100, count: 20)
        }
        let line = try #require(report.fingerprint.cacheLine)
        #expect(line.pairs.isEmpty && line.modes.isEmpty && line.averageNanoseconds == nil)
        #expect(
            line.missingBecause == "There is no pair: this process may run on one processor only."
        )
        #expect(report.cases.flatMap(\.repeats).allSatisfy { $0.processors == nil })
    }

    @Test(.timeLimit(.minutes(15)))
    func `where others keep the processors busy, a run says so and goes on`() async throws {
        let report = try await Self.report { _ in [] }
        let line = try #require(report.fingerprint.cacheLine)
        #expect(line.missingBecause == "Other threads kept the processors busy.")
        #expect(report.cases[0].repeats.count == 6)
    }
}
