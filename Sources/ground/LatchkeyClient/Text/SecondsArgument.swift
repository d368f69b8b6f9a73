package import LatchkeySettings

/// Times that a command line gives in seconds or with a unit, such as `30`, `0.5` or `5m`.
package enum SecondsArgument {
    /// The values of a flag with a time in seconds, with up to three digits after the point.
    package static func values(_ bounds: ClosedRange<Double>) -> SettingValues {
        .spelling(
            placeholder: "SECONDS",
            help: "seconds from \(shown(bounds.lowerBound)) to \(shown(bounds.upperBound)), "
                + "such as 30 or 5m",
            isRight: { milliseconds($0, bounds) != nil }
        )
    }

    /// The time as the service takes it: seconds without a unit.
    package static func seconds(_ text: String) -> String? {
        duration(text).map { Self.text($0) }
    }

    /// A time in seconds, with three digits after the point if it is not whole.
    package static func text(_ duration: Duration) -> String {
        let milliseconds = duration.wholeMilliseconds
        let rest = String(milliseconds % 1000 + 1000).dropFirst()
        return milliseconds % 1000 == 0
            ? "\(milliseconds / 1000)" : "\(milliseconds / 1000).\(rest)"
    }

    package static func duration(_ text: String) -> Duration? {
        milliseconds(text, 0...1e9).map { .milliseconds($0) }
    }

    private static func milliseconds(_ text: String, _ bounds: ClosedRange<Double>) -> Int? {
        guard let seconds = Measure.seconds.decimal(text), bounds.contains(seconds) else {
            return nil
        }
        return Int((seconds * 1000).rounded())
    }

    private static func shown(_ bound: Double) -> String {
        bound == bound.rounded() ? "\(Int(bound))" : "\(bound)"
    }
}
