package import LatchkeyHTTP

/// A valid `traceparent` of a request (W3C Trace Context, section 3.2).
package struct TraceParent: Hashable, Sendable {
    /// Of version 00; later ones may be longer.
    private static let count = 55

    /// The field as it was sent.
    package let text: String
    /// 32 hexadecimal digits.
    package let trace: String
    /// 16 hexadecimal digits: the span of the caller.
    package let parent: String

    /// Nil if the request has none, several, or one that is not valid.
    package init?(_ exchange: Exchange) {
        guard let field = exchange.header(named: "traceparent"),
            !exchange.repeatsHeader(named: "traceparent")
        else { return nil }
        self.init(Array(field))
    }

    package init?(_ field: [UInt8]) {
        guard field.count >= Self.count, field.count <= 2 * Self.count else { return nil }
        let version = field[..<2]
        let trace = field[3..<35]
        let parent = field[36..<52]
        let flags = field[53..<55]
        for place in [2, 35, 52] where field[place] != UInt8(ascii: "-") { return nil }
        for part in [version, trace, parent, flags] where !part.allSatisfy(Self.isDigit) {
            return nil
        }
        let isVersion00 = version.allSatisfy { $0 == UInt8(ascii: "0") }
        guard !version.allSatisfy({ $0 == UInt8(ascii: "f") }),
            !trace.allSatisfy({ $0 == UInt8(ascii: "0") }),
            !parent.allSatisfy({ $0 == UInt8(ascii: "0") }),
            field.count == Self.count || !isVersion00 && field[Self.count] == UInt8(ascii: "-"),
            field.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        text = String(decoding: field, as: UTF8.self)
        self.trace = String(decoding: trace, as: UTF8.self)
        self.parent = String(decoding: parent, as: UTF8.self)
    }

    /// Only lower case is allowed.
    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
            || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f")
    }
}
