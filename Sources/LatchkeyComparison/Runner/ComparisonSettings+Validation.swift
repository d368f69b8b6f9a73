import LatchkeySync

/// Settings that make no sense, as a sentence.
package struct ComparisonSettingsError: Error, Hashable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }

    package var description: String { message }
}

/// What a run accepts.
package enum ComparisonBounds {
    /// More threads than this are no comparison of locks any more.
    package static let threadsMax = 256
    /// 10 ms.
    ///
    /// A slower section is better measured with a stopwatch.
    package static let workNanosecondsMax = 10_000_000
    package static let keysMax = 1 << 20
    package static let repeatsMax = 1_000
    package static let durationSeconds = 0.005...60.0
    /// Of fewer operations, the p99 is the slowest one.
    package static let arrivalsMin = 100.0
}

extension ComparisonSettings {
    /// Says what is wrong with the settings, if anything is.
    package func validate() throws(ComparisonSettingsError) {
        func require(_ condition: Bool, _ message: String) throws(ComparisonSettingsError) {
            guard condition else { throw ComparisonSettingsError(message) }
        }
        func list(
            _ name: String,
            _ values: [some Hashable],
            _ isRight: Bool,
            _ bounds: String
        ) throws(ComparisonSettingsError) {
            try require(!values.isEmpty, "\(name) must name at least one value.")
            try require(Set(values).count == values.count, "\(name) names a value twice.")
            try require(isRight, "\(name) must be \(bounds).")
        }
        let work = 0...ComparisonBounds.workNanosecondsMax
        try list("strategies", strategies, true, "")
        try list(
            "threads",
            threads,
            threads.allSatisfy { (1...ComparisonBounds.threadsMax).contains($0) },
            "from 1 to \(ComparisonBounds.threadsMax)"
        )
        try list(
            "read-ratio",
            readRatios,
            readRatios.allSatisfy { (0...1).contains($0) },
            "from 0 to 1"
        )
        try list(
            "section",
            sectionNanoseconds,
            sectionNanoseconds.allSatisfy(work.contains),
            "from 0 to \(work.upperBound) nanoseconds"
        )
        try list(
            "outside",
            outside,
            outside.allSatisfy { work.contains($0.nanoseconds) },
            "from 0 to \(work.upperBound) nanoseconds"
        )
        try list(
            "keys",
            keys,
            keys.allSatisfy { (1...ComparisonBounds.keysMax).contains($0) },
            "from 1 to \(ComparisonBounds.keysMax)"
        )
        try list("skew", skews, true, "")
        try list(
            "stripes",
            stripes,
            stripes.allSatisfy(StripeCount.isValid),
            "powers of two from 1 to \(StripeCount.max)"
        )
        try require(
            (1...ComparisonBounds.repeatsMax).contains(repeats),
            "repeats must be from 1 to \(ComparisonBounds.repeatsMax)."
        )
        try require(
            ComparisonBounds.durationSeconds.contains(durationSeconds),
            "duration must be from 5 milliseconds to 60 seconds."
        )
        if case .open(let rate) = arrival {
            try require(
                rate * durationSeconds >= ComparisonBounds.arrivalsMin,
                "arrival has fewer than \(Int(ComparisonBounds.arrivalsMin)) operations in a "
                    + "repeat, too few for a p99: raise the rate or the duration."
            )
        }
    }
}
