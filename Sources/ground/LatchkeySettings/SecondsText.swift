/// Times as seconds, such as `0.25`.
package enum SecondsText {
    /// Parses a decimal number without a sign, rounded to milliseconds; nil for anything else and
    /// outside of `bounds`.
    ///
    /// It may have an exponent: many languages write 0.00005 as `5e-05`.
    package static func milliseconds(_ text: String, in bounds: ClosedRange<Int64>) -> Int64? {
        guard let first = text.utf8.first, isPlain(first),
            text.utf8.allSatisfy({ isPlain($0) || "eE+-".utf8.contains($0) })
        else { return nil }
        return milliseconds(Double(text), in: bounds)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: ".")
    }

    /// The same for a number; nil for nil.
    package static func milliseconds(
        _ seconds: Double?,
        in bounds: ClosedRange<Int64>
    ) -> Int64? {
        // Before rounding, so that a number just below the least is refused.
        let range = Double(bounds.lowerBound) / 1000...Double(bounds.upperBound) / 1000
        guard let seconds, range.contains(seconds) else { return nil }
        return Int64((seconds * 1000).rounded())
    }

    /// Seconds with three digits after the point.
    package static func text(milliseconds: Int64) -> String {
        "\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst())"
    }

    /// In the form that the service accepts: with three digits after the point if it is not whole.
    package static func text(_ duration: Duration) -> String {
        let milliseconds = Int64(duration.wholeMilliseconds)
        return milliseconds % 1000 == 0
            ? "\(milliseconds / 1000)" : text(milliseconds: milliseconds)
    }

    /// A time of a command line, in seconds or with a unit, such as `30`, `0.5` or `5m`.
    package static func duration(_ argument: String) -> Duration? {
        milliseconds(Measure.seconds.decimal(argument), in: 0...1_000_000_000_000)
            .map { .milliseconds($0) }
    }
}

extension SettingValues {
    /// Times in seconds or with a unit, with up to three digits after the point.
    package static func times(_ bounds: ClosedRange<Double>) -> Self {
        func shown(_ bound: Double) -> String {
            bound == bound.rounded() ? "\(Int(bound))" : "\(bound)"
        }
        return .spelling(
            placeholder: "SECONDS",
            help: "seconds from \(shown(bounds.lowerBound)) to \(shown(bounds.upperBound)), "
                + "such as 30" + (bounds.contains(300) ? " or 5m" : ""),
            isRight: { Measure.seconds.decimal($0).map(bounds.contains) == true }
        )
    }
}
