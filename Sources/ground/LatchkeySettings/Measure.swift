/// The unit of a setting's numbers, and the other units in which they can be given.
package enum Measure: Sendable {
    case none
    case nanoseconds
    case seconds
    case bytes

    /// The unit of a number without one, for readers; empty if there is none.
    package var name: String {
        switch self {
        case .none: ""
        case .nanoseconds: "nanoseconds"
        case .seconds: "seconds"
        case .bytes: "bytes"
        }
    }

    /// The units, each with its size in the setting's own unit.
    private var units: [(name: String, size: Double)] {
        switch self {
        case .none: []
        case .nanoseconds: Self.times.map { ($0.name, $0.nanoseconds) }
        case .seconds: Self.times.map { ($0.name, $0.nanoseconds / 1e9) }
        case .bytes: Self.sizes
        }
    }

    private static let times: [(name: String, nanoseconds: Double)] = [
        ("ns", 1), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9),
        ("h", 3600e9),
    ]

    private static let sizes: [(name: String, size: Double)] = [
        ("B", 1), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("KiB", 0x1p10),
        ("MiB", 0x1p20), ("GiB", 0x1p30), ("TiB", 0x1p40),
    ]

    /// Examples of values with a unit, for messages.
    var examples: String {
        switch self {
        case .none: ""
        case .nanoseconds: ", such as 50ns or 10us"
        case .seconds: ", such as 30s or 5m"
        case .bytes: ", such as 512KiB or 2MB"
        }
    }

    /// The whole number that a text stands for, in this unit.
    ///
    /// `nil` if it is not a whole number of this unit.
    package func integer(_ text: some StringProtocol) -> Int? {
        if let number = Int(text) { return number }
        guard let number = decimal(text), abs(number) < 0x1p53 else { return nil }
        // 1.1us is 1100.0000000000001 ns.
        let whole = number.rounded()
        let isWhole = abs(number - whole) <= abs(whole) * 1e-12
        return isWhole && isOfUnit(text) ? Int(whole) : nil
    }

    /// The number that a text stands for, in this unit.
    package func decimal(_ text: some StringProtocol) -> Double? {
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        let suffix = text[digits.endIndex...]
        guard let number = Double(digits) else { return nil }
        if suffix.isEmpty { return number }
        return units.first { $0.name == suffix }.map { number * $0.size }
    }

    /// Whether a unit stands after the number: `1.5` alone is no whole number, `1.5KiB` is.
    private func isOfUnit(_ text: some StringProtocol) -> Bool {
        text.last.map { $0.isLetter } ?? false
    }
}
