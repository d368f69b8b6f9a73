/// The values that a setting can have, as text.
package enum SettingValues: Sendable {
    /// Any text but the empty one.
    case text(placeholder: String)
    case integer(ClosedRange<Int>, unit: Measure = .none)
    /// The powers of two within these bounds.
    case powerOfTwo(ClosedRange<Int>)
    /// `1/N`, with N within these bounds.
    case share(ClosedRange<Int>)
    case choice([String])
    /// `true` or `false`.
    case toggle
    /// A value with a spelling of its own.
    ///
    /// `help` describes the values. `problem` is the rest of a sentence that begins with the
    /// setting's name; nil for a valid text.
    case spelled(
        placeholder: String,
        help: String,
        problem: @Sendable (String) -> String?
    )
    /// Values separated by commas, at least one and none twice.
    case list(Element)

    /// The values that a list can have.
    package enum Element: Sendable {
        /// Whole numbers in ascending order. `1..8` stands for 1, 2, 4 and 8.
        case integer(ClosedRange<Int>, unit: Measure = .none)
        /// Numbers in ascending order.
        case decimal(ClosedRange<Double>)
        /// Names. The name `all` stands alone.
        case choice([String])
        /// Values with a spelling of their own. `help` describes the values that `isRight` accepts.
        case spelling(placeholder: String, help: String, isRight: @Sendable (String) -> Bool)
    }

    /// A value with a spelling of its own.
    ///
    /// `help` describes the values that `isRight` accepts.
    package static func spelling(
        placeholder: String,
        help: String,
        isRight: @escaping @Sendable (String) -> Bool
    ) -> Self {
        .spelled(placeholder: placeholder, help: help) { text in
            isRight(text) ? nil : "takes \(help), not '\(text)'."
        }
    }

    /// The placeholder of the value in a line of help.
    package var placeholder: String {
        switch self {
        case .text(let placeholder), .spelled(let placeholder, _, _): placeholder
        case .integer(_, .none): "N"
        case .integer(_, let unit): unit.name.uppercased()
        case .powerOfTwo: "N"
        case .share: "1/N"
        case .choice: "NAME"
        case .toggle: ""
        case .list(.integer): "N,N,..."
        case .list(.decimal): "X,X,..."
        case .list(.choice): "NAME,NAME,..."
        case .list(.spelling(let placeholder, _, _)): "\(placeholder),..."
        }
    }

    /// The bounds in a few words, such as "from 1 to 60 seconds"; empty if there is nothing to say.
    package var bounds: String {
        switch self {
        case .integer(let range, let unit):
            "from \(range.lowerBound) to \(range.upperBound)"
                + (unit == .none ? "" : " \(unit.name)")
        case .powerOfTwo(let range):
            "a power of two from \(range.lowerBound) to \(range.upperBound)"
        case .share(let range): "N from \(range.lowerBound) to \(range.upperBound)"
        case .choice(let names) where names.count <= 4: "one of \(names.joined(separator: ", "))"
        case .list(.integer(let range, _)):
            "from \(range.lowerBound) to \(range.upperBound); 1..8 is 1,2,4,8"
        case .list(.decimal(let range)): "from \(range.lowerBound) to \(range.upperBound)"
        case .choice, .text, .toggle, .spelled, .list: ""
        }
    }

    /// Checks that a text is one of the values, and returns it in the spelling that settings are
    /// read from: whole numbers without a unit.
    @discardableResult
    package func check(_ text: String) throws(InvalidSetting) -> String {
        switch self {
        case .text:
            guard !text.isEmpty else {
                throw InvalidSetting("needs a value.")
            }
        case .integer(let range, let unit):
            let number = unit.integer(text)
            try require(
                number.map(range.contains),
                "a whole number from \(range.lowerBound) to \(range.upperBound)"
                    + (unit == .none ? "" : " \(unit.name)\(unit.examples)"),
                text
            )
            return number.map(String.init) ?? text
        case .powerOfTwo(let range):
            try require(
                Int(text).map { range.contains($0) && $0.nonzeroBitCount == 1 },
                bounds,
                text
            )
        case .share(let range):
            try require(
                text.hasPrefix("1/") ? Int(text.dropFirst(2)).map(range.contains) : nil,
                "1/N with N from \(range.lowerBound) to \(range.upperBound), such as 1/16",
                text
            )
        case .choice(let names):
            try require(
                names.contains(text),
                "one of \(names.joined(separator: ", "))",
                text,
                names
            )
        case .toggle:
            try require(Bool(text) != nil, "true or false", text)
        case .spelled(_, _, let problem):
            if let problem = problem(text) {
                throw InvalidSetting(problem)
            }
        case .list(let element):
            _ = try element.values(text)
        }
        return text
    }
}

/// Throws unless the text is right, and suggests the nearest of the names.
private func require(
    _ isRight: Bool?,
    _ expected: String,
    _ text: String,
    _ names: [String] = []
) throws(InvalidSetting) {
    guard isRight == true else {
        let suggestion = Suggestion.sentence(for: text, among: names)
        throw InvalidSetting("takes \(expected), not '\(text)'.\(suggestion)")
    }
}

/// The reason why a setting cannot have a value: the rest of a sentence that begins with the name
/// of the setting, or of its flag.
package struct InvalidSetting: Error {
    package let message: String

    init(_ message: String) {
        self.message = message
    }
}

extension SettingValues.Element {
    /// The values of a list, checked and with ranges written out.
    package func values(_ text: String) throws(InvalidSetting) -> [String] {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard !parts.contains("") else {
            throw InvalidSetting(
                text.isEmpty ? "needs a value." : "has an empty place in its list '\(text)'."
            )
        }
        switch self {
        case .integer(let bounds, let unit):
            return try integers(parts, bounds, unit)
        case .decimal(let bounds):
            for part in parts {
                try require(
                    Double(part).map(bounds.contains),
                    "numbers from \(bounds.lowerBound) to \(bounds.upperBound)",
                    part
                )
            }
            try requireAscending(parts.compactMap(Double.init), parts)
        case .choice(let names):
            for part in parts {
                try require(
                    names.contains(part),
                    "names from \(names.joined(separator: ", "))",
                    part,
                    names
                )
            }
            guard parts.count == 1 || !parts.contains("all") else {
                throw InvalidSetting("takes all, or names, not both.")
            }
            try requireDistinct(parts)
        case .spelling(_, let help, let isRight):
            for part in parts {
                try require(isRight(part), help, part)
            }
            try requireDistinct(parts)
        }
        return parts
    }

    private func integers(
        _ parts: [String],
        _ bounds: ClosedRange<Int>,
        _ unit: Measure
    ) throws(InvalidSetting) -> [String] {
        func integer(_ text: some StringProtocol, of part: String) throws(InvalidSetting) -> Int {
            guard let number = unit.integer(text), bounds.contains(number) else {
                throw InvalidSetting(
                    "takes whole numbers from \(bounds.lowerBound) to \(bounds.upperBound)"
                        + (unit == .none ? "" : " \(unit.name)\(unit.examples)")
                        + ", not '\(part)'."
                )
            }
            return number
        }
        var numbers: [Int] = []
        for part in parts {
            guard let dots = part.firstRange(of: "..") else {
                numbers.append(try integer(part, of: part))
                continue
            }
            let first = try integer(part[..<dots.lowerBound], of: part)
            let last = try integer(part[dots.upperBound...], of: part)
            guard first <= last else {
                throw InvalidSetting("has a range that runs backwards: '\(part)'.")
            }
            var next = first
            while next < last {
                numbers.append(next)
                next = max(2 * next, 1)
            }
            numbers.append(last)
        }
        let texts = numbers.map(String.init)
        try requireAscending(numbers, texts)
        return texts
    }

    private func requireAscending(
        _ numbers: [some Comparable],
        _ texts: [String]
    ) throws(InvalidSetting) {
        for (index, number) in numbers.enumerated().dropFirst() where numbers[index - 1] >= number {
            throw InvalidSetting(
                "takes ascending numbers, and '\(texts[index])' comes after '\(texts[index - 1])'."
            )
        }
    }

    private func requireDistinct(_ parts: [String]) throws(InvalidSetting) {
        var seen: Set<String> = []
        for part in parts where !seen.insert(part).inserted {
            throw InvalidSetting("names '\(part)' twice.")
        }
    }
}
