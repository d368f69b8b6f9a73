/// Times as seconds, such as `0.25`.
package enum SecondsText {
    /// Parses a decimal number without a sign, rounded to milliseconds; nil for anything else and
    /// out of bounds.
    ///
    /// It may have an exponent: many languages write 0.00005 as `5e-05`.
    package static func milliseconds(_ text: String, in bounds: ClosedRange<Int64>) -> Int64? {
        guard let first = text.utf8.first, isPlain(first),
            text.utf8.allSatisfy({ isPlain($0) || "eE+-".utf8.contains($0) })
        else { return nil }
        return Double(text).flatMap { milliseconds($0, in: bounds) }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: ".")
    }

    /// The same of a JSON number.
    package static func milliseconds(_ json: JSONView, in bounds: ClosedRange<Int64>) -> Int64? {
        json.double.flatMap { milliseconds($0, in: bounds) }
    }

    private static func milliseconds(_ seconds: Double, in bounds: ClosedRange<Int64>) -> Int64? {
        // Before rounding: what is a little less than the least is less.
        let range = Double(bounds.lowerBound) / 1000...Double(bounds.upperBound) / 1000
        return range.contains(seconds) ? Int64((seconds * 1000).rounded()) : nil
    }
}

extension JSONView {
    /// The number as the nearest one that a binary fraction can be.
    package var double: Double? {
        kind == .number ? Double(unsafe String(decoding: bytes, as: UTF8.self)) : nil
    }
}
