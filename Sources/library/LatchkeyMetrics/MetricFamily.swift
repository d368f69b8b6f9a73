/// The common part of all samples under one name.
///
/// The name is the one of Prometheus' text format; OpenMetrics' differs for counters, whose family
/// it names without `_total`.
package struct MetricFamily: Sendable, Hashable {
    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    package let name: String
    package let kind: Kind
    package let help: String
    package let unit: String?

    /// Stops the program if a name breaks the rules, since names are constants of the program: a
    /// counter ends in `_total` and nothing else does; a unit is the name's suffix, before
    /// `_total`; no name ends like a part of a histogram.
    package init(_ name: String, _ kind: Kind, help: String, unit: String? = nil) {
        precondition(Self.isValidName(name), "A metric's name is letters, digits and underscores.")
        precondition(
            name.hasSuffix("_total") == (kind == .counter),
            "The names of counters, and only those, end in _total."
        )
        precondition(
            !["_bucket", "_count", "_sum", "_created"].contains(where: name.hasSuffix),
            "A metric's name must not end like a part of another metric."
        )
        self.name = name
        self.kind = kind
        self.help = help
        self.unit = unit
        if let unit {
            precondition(openMetricsName.hasSuffix("_" + unit), "A unit is the name's suffix.")
        }
    }

    /// The family's name in OpenMetrics.
    var openMetricsName: String {
        kind == .counter ? String(name.dropLast("_total".count)) : name
    }

    /// Every name that the family's lines begin with, in either format.
    var claimedNames: [String] {
        switch kind {
        case .counter: [name, openMetricsName]
        case .gauge: [name]
        case .histogram: [name, name + "_bucket", name + "_count", name + "_sum"]
        }
    }

    /// Whether `name` has only ASCII letters, digits and underscores, and begins with no digit.
    static func isValidName(_ name: String) -> Bool {
        guard let first = name.utf8.first, !isDigit(first) else { return false }
        return name.utf8.allSatisfy { byte in
            isDigit(byte) || byte == UInt8(ascii: "_")
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// The labels of one series, rendered once.
package struct Labels: Sendable, Hashable {
    /// As between the braces: `strategy="lock",mode="read"`.
    let text: String

    package static let none = Labels([])

    /// Stops the program if a label's name breaks the rules, is reserved or comes twice.
    ///
    /// A value may be any text: characters that could end it are escaped, control characters are
    /// replaced.
    package init(_ pairs: [(name: String, value: String)]) {
        var seen: Set<String> = ["le", "quantile"]
        for (name, _) in pairs {
            precondition(
                MetricFamily.isValidName(name) && !name.hasPrefix("__"),
                "A label's name is letters, digits and underscores."
            )
            precondition(seen.insert(name).inserted, "A label's name is reserved or comes twice.")
        }
        text = pairs.map { "\($0.name)=\"\(Self.escape($0.value))\"" }.joined(separator: ",")
    }

    /// Text as it stands in a scrape, between quotes unless these stand for themselves.
    static func escape(_ value: String, quotes: Bool = true) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"" where quotes: escaped += "\\\""
            case "\n": escaped += "\\n"
            case "\u{0}"..."\u{1F}", "\u{7F}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
