internal import LatchkeySync

/// Values of a flag that takes a list.
enum FlagList {
    /// The values, checked and with ranges written out.
    static func values(
        _ text: String,
        _ element: Flag.Element,
        source: String
    ) throws(UsageError) -> [String] {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard !parts.contains("") else {
            throw UsageError(
                text.isEmpty
                    ? "\(source) needs a value."
                    : "\(source) has an empty place in its list '\(text)'."
            )
        }
        switch element {
        case .integer(let bounds):
            return try integers(parts, bounds, source: source)
        case .decimal(let bounds):
            var numbers: [Double] = []
            for part in parts {
                guard let number = Double(part), bounds.contains(number) else {
                    throw UsageError(
                        "\(source) takes numbers from \(bounds.lowerBound) to "
                            + "\(bounds.upperBound), not '\(part)'."
                    )
                }
                numbers.append(number)
            }
            try requireAscending(numbers, parts, source: source)
        case .choice(let names):
            for part in parts where !names.contains(part) {
                throw UsageError(
                    "\(source) takes names out of \(names.joined(separator: ", ")), not '\(part)'."
                )
            }
            try requireDistinct(parts, source: source)
        case .spelling(_, let help, let isRight):
            for part in parts where !isRight(part) {
                throw UsageError("\(source) takes \(help), not '\(part)'.")
            }
            try requireDistinct(parts, source: source)
        }
        return parts
    }

    private static func integers(
        _ parts: [String],
        _ bounds: ClosedRange<Int>,
        source: String
    ) throws(UsageError) -> [String] {
        func integer(_ text: some StringProtocol, of part: String) throws(UsageError) -> Int {
            guard let number = Int(text), bounds.contains(number) else {
                throw UsageError(
                    "\(source) takes whole numbers from \(bounds.lowerBound) to "
                        + "\(bounds.upperBound), not '\(part)'."
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
                throw UsageError("\(source) has a range that runs backwards: '\(part)'.")
            }
            var next = first
            while next < last {
                numbers.append(next)
                next = max(2 * next, 1)
            }
            numbers.append(last)
        }
        let texts = numbers.map(String.init)
        try requireAscending(numbers, texts, source: source)
        return texts
    }

    private static func requireAscending(
        _ numbers: [some Comparable],
        _ texts: [String],
        source: String
    ) throws(UsageError) {
        for (index, number) in numbers.enumerated().dropFirst() where numbers[index - 1] >= number {
            throw UsageError(
                "\(source) takes ascending numbers, and '\(texts[index])' comes after "
                    + "'\(texts[index - 1])'."
            )
        }
    }

    private static func requireDistinct(_ parts: [String], source: String) throws(UsageError) {
        var seen: Set<String> = []
        for part in parts where !seen.insert(part).inserted {
            throw UsageError("\(source) names '\(part)' twice.")
        }
    }
}

extension FlagValues {
    /// The strategies of a list in which `all` stands for every one.
    func strategies(_ flag: Flag) throws(UsageError) -> [StrategyKind] {
        let names = list(flag) { $0 }
        guard names.contains("all") else {
            return names.compactMap(StrategyKind.init(rawValue:))
        }
        guard names.count == 1 else {
            throw UsageError("--\(flag.name) takes all, or names, not both.")
        }
        return StrategyKind.allCases
    }

    /// The values of a list, which the flag's own check has passed.
    func list<Item>(_ flag: Flag, _ make: (String) -> Item?) -> [Item] {
        guard case .list(let element) = flag.value,
            let texts = try? FlagList.values(text(flag.name), element, source: flag.name)
        else {
            preconditionFailure("--\(flag.name) is not in the command's table as a list")
        }
        return texts.map { text in
            guard let item = make(text) else {
                preconditionFailure("--\(flag.name) passed its check with '\(text)'")
            }
            return item
        }
    }
}
