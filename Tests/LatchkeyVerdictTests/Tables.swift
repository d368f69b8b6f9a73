import Foundation

@testable import LatchkeyVerdict

/// SplitMix64, so that a seed gives the same table everywhere.
struct Draw: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func unit() -> Double { Double.random(in: 0..<1, using: &self) }

    mutating func normal() -> Double {
        (-2 * log(1 - unit())).squareRoot() * cos(2 * .pi * unit())
    }
}

extension VerdictTable.Figures {
    /// Repeats with these speeds.
    static func repeats(_ speeds: [Double], limits: Limits = Limits()) -> Self {
        let sorted = speeds.sorted()
        return Self(
            speed: sorted.isEmpty ? 0 : sorted[sorted.count / 2],
            repeats: Dictionary(uniqueKeysWithValues: speeds.enumerated().map { ($0, $1) }),
            limits: limits
        )
    }

    /// Five repeats close to a speed, each deviation different from the other strategies'.
    static func steady(_ speed: Double, limits: Limits = Limits()) -> Self {
        repeats([0.999, 1, 1.0005, 0.9995, 1.001].map { $0 * speed }, limits: limits)
    }
}

extension VerdictTable {
    /// Strategies in the order of the list, each with its figures by number of threads.
    static func plain(
        _ rows: KeyValuePairs<String, [Int: Figures]>,
        figure: RankedFigure = .throughput,
        readRatio: Double = 0.5,
        preferences: [String: Preference] = [:],
        exclusions: [String: String] = [:]
    ) -> Self {
        let threads = Set(rows.flatMap { $0.value.keys }).sorted()
        return Self(
            figure: figure,
            places: threads.map { Place(threads: $0, workload: 0) },
            readRatios: threads.map { _ in readRatio },
            strategies: rows.enumerated().map { order, row in
                var preference = preferences[row.key] ?? Preference()
                preference.order = order
                return Strategy(row.key, preference, exclusion: exclusions[row.key])
            },
            figures: Dictionary(
                uniqueKeysWithValues: rows.map { row in (row.key, threads.map { row.value[$0] }) }
            )
        )
    }

    func verdict(_ current: String = "lock") -> Verdict { Verdict(self, current: current) }

    func text(
        _ current: String = "lock",
        failures: [(String, clause: String)] = []
    ) -> VerdictText? {
        VerdictText(verdict(current), asked: current, failures: failures)
    }
}
