package import LatchkeySync

/// A part of the settings that has one spelling, on the command line and in JSON.
package protocol Spelled: Codable, LosslessStringConvertible {}

extension Spelled {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Self(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "'\(text)' is no \(Self.self)"
            )
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// `200`, or `scaled:200` for 200 times the number of threads.
extension OutsideWork: Spelled {
    private static let scaledPrefix = "scaled:"

    package init?(_ description: String) {
        let isScaled = description.hasPrefix(Self.scaledPrefix)
        let digits = isScaled ? String(description.dropFirst(Self.scaledPrefix.count)) : description
        guard let nanoseconds = Int(digits), nanoseconds >= 0 else { return nil }
        self.init(nanoseconds: nanoseconds, scalesWithThreads: isScaled)
    }

    package var description: String {
        (scalesWithThreads ? Self.scaledPrefix : "") + "\(nanoseconds)"
    }
}

/// `uniform`, or `zipf:0.99`.
extension KeySkew: Spelled {
    private static let zipfPrefix = "zipf:"

    package init?(_ description: String) {
        if description == "uniform" {
            self = .uniform
        } else if description.hasPrefix(Self.zipfPrefix),
            let exponent = Double(description.dropFirst(Self.zipfPrefix.count)),
            exponent > 0, exponent.isFinite
        {
            self = .zipf(exponent: exponent)
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .uniform: "uniform"
        case .zipf(let exponent): Self.zipfPrefix + shortText(exponent)
        }
    }
}

/// `closed`, or `open:100000` operations a second.
extension Arrival: Spelled {
    private static let openPrefix = "open:"

    package init?(_ description: String) {
        if description == "closed" {
            self = .closed
        } else if description.hasPrefix(Self.openPrefix),
            let rate = Double(description.dropFirst(Self.openPrefix.count)),
            rate > 0, rate.isFinite
        {
            self = .open(operationsPerSecond: rate)
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .closed: "closed"
        case .open(let rate): Self.openPrefix + shortText(rate)
        }
    }
}

extension StrategyKind: Codable {}

/// A number without the `.0` of a whole one.
package func shortText(_ number: Double) -> String {
    Int(exactly: number).map(String.init) ?? "\(number)"
}
