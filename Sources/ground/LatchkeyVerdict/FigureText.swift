internal import Foundation

/// Figures for readers: three significant digits and a unit.
///
/// All reports write figures with these, so that the terminal and the page agree.
package enum FigureText {
    /// `50.4M`, `719k`, `62.1`.
    package static func count(_ value: Double) -> String {
        scaled(value, [("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)])
    }

    /// `12.3 ns`, `1.20 ms`.
    package static func duration(nanoseconds: Double) -> String {
        scaled(nanoseconds, [(" ns", 1), (" µs", 1e3), (" ms", 1e6), (" s", 1e9)])
    }

    /// `90 ms`, of a time that was given and not measured: without zeros at the end.
    package static func given(seconds: Double) -> String {
        let parts = duration(nanoseconds: seconds * 1e9).split(separator: " ")
        guard parts.count == 2, parts[0].contains(".") else { return parts.joined(separator: " ") }
        var number = parts[0]
        while number.last == "0" { number.removeLast() }
        if number.last == "." { number.removeLast() }
        return "\(number) \(parts[1])"
    }

    /// `1 min 20 s`, for people who wait.
    package static func waitingTime(seconds: Double) -> String {
        // A number from a file can have any value.
        let whole = Int(min(max(0, seconds), 1e15).rounded(.up))
        if whole < 60 { return "\(whole) s" }
        if whole < 3_600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3_600) h \(whole % 3_600 / 60) min"
    }

    /// `12 %`, `0.5 %`.
    package static func percent(_ ratio: Double) -> String {
        let percent = ratio * 100
        let isWhole = percent == percent.rounded() || abs(percent) < 0.05 || abs(percent) >= 9.95
        return fixed(percent, isWhole ? 0 : 1) + " %"
    }

    /// `+12 %`, `−8 %`.
    package static func change(_ ratio: Double) -> String {
        (ratio < 0 ? "−" : "+") + percent(abs(ratio))
    }

    /// An exact half is rounded away from zero, as the page's script does it.
    package static func fixed(_ value: Double, _ digits: Int) -> String {
        guard value.isFinite else { return "–" }
        let scale = pow(10, Double(digits))
        let scaled = value * scale
        let isHalf =
            abs(scaled.remainder(dividingBy: 1)) == 0.5
            && scaled.addingProduct(-value, scale) == 0
        let rounded = isHalf ? scaled.rounded(.toNearestOrAwayFromZero) / scale : value
        return String(format: "%.\(digits)f", rounded)
    }

    /// Names in a sentence: `a`, `b` and `c`, each in backquotes.
    package static func names(_ names: [String]) -> String {
        let quoted = names.map { "`\($0)`" }
        guard let last = quoted.last else { return "" }
        guard quoted.count > 1 else { return last }
        return quoted.dropLast().joined(separator: ", ") + " and " + last
    }

    /// `1 thread`, `4 threads`.
    package static func counted(_ count: Int, _ noun: String) -> String {
        "\(count) " + plural(noun, Double(count))
    }

    /// The noun after a number.
    package static func plural(_ noun: String, _ number: Double) -> String {
        if number == 1 { return noun }
        // `entries`, but `keys`.
        let isAfterVowel = noun.dropLast().last.map { "aeiou".contains($0) } ?? true
        return noun.hasSuffix("y") && !isAfterVowel ? noun.dropLast() + "ies" : noun + "s"
    }

    private static func scaled(_ value: Double, _ units: [(name: String, size: Double)]) -> String {
        guard value.isFinite else { return "–" }
        // 999.5 is written as 1.00 of the next unit.
        let unit = units.last { abs(value) >= $0.size * 0.9995 } ?? units[0]
        let number = value / unit.size
        let digits = abs(number) >= 99.95 ? 0 : abs(number) >= 9.995 ? 1 : 2
        let text = fixed(number, digits)
        return (unit.size == 1 && number == number.rounded() ? "\(Int(number))" : text) + unit.name
    }
}
