/// Why a comparison cannot be made or go on, in a sentence.
@usableFromInline
package struct ComparisonError: Error, Hashable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }

    @usableFromInline package var description: String { message }
}

/// The limits of a run's settings.
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
    /// With fewer operations, the p99 is the slowest one.
    package static let arrivalsMin = 100.0
    /// More operations in a second than any processor can begin.
    package static let arrivalRateMax = 1e9
}
