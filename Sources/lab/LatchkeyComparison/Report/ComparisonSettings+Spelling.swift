internal import LatchkeySettings
package import LatchkeyStrategies

// Values with the same spelling on the command line and in JSON.

/// `200` or `200ns`, or `scaled:200` for 200 times the number of threads.
extension OutsideWork: RawRepresentable, Codable {
    private static let scaledPrefix = "scaled:"

    package init?(rawValue: String) {
        let digits = rest(of: rawValue, after: Self.scaledPrefix)
        let number = Measure.nanoseconds.integer(digits ?? rawValue)
        guard let nanoseconds = number, nanoseconds >= 0 else { return nil }
        self.init(nanoseconds: nanoseconds, scalesWithThreads: digits != nil)
    }

    package var rawValue: String {
        (scalesWithThreads ? Self.scaledPrefix : "") + "\(nanoseconds)"
    }
}

/// `uniform`, or `zipf:0.99`.
extension KeySkew: RawRepresentable, Codable {
    package init?(rawValue: String) {
        let exponent = rest(of: rawValue, after: "zipf:").flatMap(Double.init)
        if rawValue == "uniform" {
            self = .uniform
        } else if let exponent, exponent > 0, exponent.isFinite {
            self = .zipf(exponent: exponent)
        } else {
            return nil
        }
    }

    package var rawValue: String {
        switch self {
        case .uniform: "uniform"
        case .zipf(let exponent): "zipf:" + shortText(exponent)
        }
    }
}

/// `closed`, or `open:100000` operations a second; of a trace, `recorded:2500.5`.
extension Arrival: RawRepresentable, Codable {
    package init?(rawValue: String) {
        func rate(after prefix: String) -> Double? {
            let rate = rest(of: rawValue, after: prefix).flatMap(Double.init)
            return rate.flatMap { $0 > 0 && $0.isFinite ? $0 : nil }
        }
        if rawValue == "closed" {
            self = .closed
        } else if let rate = rate(after: "open:") {
            self = .open(operationsPerSecond: rate)
        } else if let rate = rate(after: "recorded:") {
            self = .recorded(operationsPerSecond: rate)
        } else {
            return nil
        }
    }

    package var rawValue: String {
        switch self {
        case .closed: "closed"
        case .open(let rate): "open:" + shortText(rate)
        case .recorded(let rate): "recorded:" + shortText(rate)
        }
    }

    /// The operations that are due in a second; nil if the next one is due when the last has ended.
    package var operationsPerSecond: Double? {
        switch self {
        case .closed: nil
        case .open(let rate), .recorded(let rate): rate
        }
    }
}

extension StrategyKind: Codable {}

private func rest(of text: String, after prefix: String) -> String? {
    text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil
}

/// A number without the `.0` of a whole one.
package func shortText(_ number: Double) -> String {
    Int(exactly: number).map(String.init) ?? "\(number)"
}
